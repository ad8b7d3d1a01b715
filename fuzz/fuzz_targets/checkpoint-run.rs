//! The target of the reader `checkpoint-run`.

#![no_main]

hookrack_fuzz::target!("checkpoint-run");

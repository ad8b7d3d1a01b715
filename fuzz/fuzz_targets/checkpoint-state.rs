//! The target of the reader `checkpoint-state`.

#![no_main]

hookrack_fuzz::target!("checkpoint-state");

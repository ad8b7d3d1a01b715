//! The target of the reader `checkpoint-hooks`.

#![no_main]

hookrack_fuzz::target!("checkpoint-hooks");

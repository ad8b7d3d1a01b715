//! The target of the reader `checkpoint-model`.

#![no_main]

hookrack_fuzz::target!("checkpoint-model");

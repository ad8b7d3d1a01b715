//! The target of the reader `checkpoint-manifest`.

#![no_main]

hookrack_fuzz::target!("checkpoint-manifest");

//! The target of the reader `weights`.

#![no_main]

hookrack_fuzz::target!("weights");

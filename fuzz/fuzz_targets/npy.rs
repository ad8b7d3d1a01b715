//! The target of the reader `npy`.

#![no_main]

hookrack_fuzz::target!("npy");

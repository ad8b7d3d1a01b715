//! The target of the reader `signature`.

#![no_main]

hookrack_fuzz::target!("signature");

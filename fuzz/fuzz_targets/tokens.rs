//! The target of the reader `tokens`.

#![no_main]

hookrack_fuzz::target!("tokens");

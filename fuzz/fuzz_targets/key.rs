//! The target of the reader `key`.

#![no_main]

hookrack_fuzz::target!("key");

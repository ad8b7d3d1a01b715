//! The target of the reader `config`.

#![no_main]

hookrack_fuzz::target!("config");

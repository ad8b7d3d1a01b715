//! The target of the reader `header`.

#![no_main]

hookrack_fuzz::target!("header");

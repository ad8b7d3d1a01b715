//! The target of the reader `index`.

#![no_main]

hookrack_fuzz::target!("index");

//! The target of the reader `override`.

#![no_main]

hookrack_fuzz::target!("override");

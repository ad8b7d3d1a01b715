//! The target of the reader `policy`.

#![no_main]

hookrack_fuzz::target!("policy");

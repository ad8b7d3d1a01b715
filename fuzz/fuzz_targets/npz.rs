//! The target of the reader `npz`.

#![no_main]

hookrack_fuzz::target!("npz");

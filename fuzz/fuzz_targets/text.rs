//! The target of the reader `text`.

#![no_main]

hookrack_fuzz::target!("text");

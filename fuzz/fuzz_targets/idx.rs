//! The target of the reader `idx`.

#![no_main]

hookrack_fuzz::target!("idx");

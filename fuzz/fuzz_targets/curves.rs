//! The target of the reader `curves`.

#![no_main]

hookrack_fuzz::target!("curves");

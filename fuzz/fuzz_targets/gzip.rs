//! The target of the reader `gzip`.

#![no_main]

hookrack_fuzz::target!("gzip");

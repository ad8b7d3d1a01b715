//! The target of the reader `image`.

#![no_main]

hookrack_fuzz::target!("image");

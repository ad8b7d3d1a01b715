//! The target of the reader `safetensors`.

#![no_main]

hookrack_fuzz::target!("safetensors");

//! The target of the reader `manifest`.

#![no_main]

hookrack_fuzz::target!("manifest");

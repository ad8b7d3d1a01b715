//! The target of the reader `elf`.

#![no_main]

hookrack_fuzz::target!("elf");

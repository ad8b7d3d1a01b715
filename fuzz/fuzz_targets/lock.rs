//! The target of the reader `lock`.

#![no_main]

hookrack_fuzz::target!("lock");

//! The target of the reader `run-record`.

#![no_main]

hookrack_fuzz::target!("run-record");

//! The target of the reader `csv`.

#![no_main]

hookrack_fuzz::target!("csv");

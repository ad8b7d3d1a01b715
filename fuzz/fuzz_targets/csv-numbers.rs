//! The target of the reader `csv-numbers`.

#![no_main]

hookrack_fuzz::target!("csv-numbers");

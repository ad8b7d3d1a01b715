//! The target of the reader `metrics`.

#![no_main]

hookrack_fuzz::target!("metrics");

//! The target of the reader `shards`.

#![no_main]

hookrack_fuzz::target!("shards");

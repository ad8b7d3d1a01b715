//! The target of the reader `cifar10`.

#![no_main]

hookrack_fuzz::target!("cifar10");

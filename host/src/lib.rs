//! A training host: a trainer loop on libtorch whose hooks and metrics come from shared libraries.

pub mod torch;

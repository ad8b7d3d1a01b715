//! What a hook may ask of the loop.

use super::Trainer;
use crate::abi::{REQUEST_SAVE, REQUEST_STOP, REQUEST_VALIDATE};
use crate::error::Result;

/// What may be asked for.
impl Trainer {
    /// Asks the run to end at the next boundary; the first reason is kept.
    pub fn request_stop(&mut self, why: &str) -> Result<()> {
        self.host.request(REQUEST_STOP, why)
    }

    /// Asks for a validation in the next slot.
    pub fn request_validation(&mut self) -> Result<()> {
        self.host.request(REQUEST_VALIDATE, "")
    }

    /// Asks for a checkpoint in the next slot.
    pub fn request_checkpoint(&mut self) -> Result<()> {
        self.host.request(REQUEST_SAVE, "")
    }
}

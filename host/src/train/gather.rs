//! Outputs of several ranks, in the order of the data.

use super::fit::{Result, Trainer};
use crate::engine::TensorShard;
use crate::run::safetensors_file;
use std::path::Path;
use tch::Tensor;

/// The name of an output on the wire.
const OUTPUT: &str = "output";

impl Trainer {
    /// The outputs of a round of batches, of which each rank had at most one, in the order of ranks, which is that of the data. Only
    /// the main rank gets them; all ranks call it.
    pub(super) fn gather_outputs(&self, own: Option<Tensor>) -> Result<Vec<Tensor>> {
        let Some(world) = self.context.world.get() else { return Ok(own.into_iter().collect()) };
        let mut bytes = Vec::new();
        if let Some(own) = own {
            let own = self.locate(own.f_detach())?;
            safetensors_file::lay_out(&[TensorShard::whole(OUTPUT, own)], &mut bytes)?;
        }
        let all = self.locate(world.exchange(&bytes))?;
        if !world.ranks().is_main() {
            return Ok(Vec::new());
        }
        let mut outputs = Vec::new();
        for bytes in all.iter().filter(|bytes| !bytes.is_empty()) {
            let read = safetensors_file::from_bytes(Path::new("an output"), bytes)?;
            outputs.extend(read.into_iter().map(|(_, output)| output));
        }
        Ok(outputs)
    }
}

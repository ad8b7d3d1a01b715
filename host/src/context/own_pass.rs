//! A hook's own pass over data, independent of the loop's.

use crate::engine::Result;
use crate::engine::data::{Batch, Loader};
use hookrack_plugin_api::Phase;

/// A second set of loaders for each phase, for passes of hooks.
#[derive(Debug, Default)]
pub struct OwnPass {
    sources: Vec<(Phase, Loader)>,
    current: Option<usize>,
}

impl OwnPass {
    /// A pass over these loaders, one per phase.
    pub fn new(sources: Vec<(Phase, Loader)>) -> Self {
        Self { sources, current: None }
    }

    /// Goes to the first batch of a phase's data; returns the number of batches that this rank has, `None` if the phase has no
    /// data.
    pub fn begin(&mut self, phase: Phase) -> Option<u64> {
        self.current = self.sources.iter().position(|(of, _)| *of == phase);
        let (_, loader) = &mut self.sources[self.current?];
        loader.begin(0, 0);
        Some(loader.own_batches())
    }

    /// The next batch; `None` after the last.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let Some(at) = self.current else { return Ok(None) };
        loop {
            let batch = self.sources[at].1.next_batch()?;
            // Others have the batches that are empty here.
            if batch.as_ref().is_none_or(|batch| batch.rows() > 0) {
                return Ok(batch);
            }
        }
    }
}

//! A hook's own pass over data, beside that of the loop.

use crate::engine::Result;
use crate::engine::data::{Batch, Loader};
use hookrack_plugin_api::Phase;

/// The data of each phase once more, for hooks to walk over.
#[derive(Debug, Default)]
pub struct OwnPass {
    sources: Vec<(Phase, Loader)>,
    current: Option<usize>,
}

impl OwnPass {
    /// A walk over these loaders, each the data of a phase.
    pub fn new(sources: Vec<(Phase, Loader)>) -> Self {
        Self { sources, current: None }
    }

    /// Goes to the first batch of a phase's data; gives how many there are, `None` where it has none.
    pub fn begin(&mut self, phase: Phase) -> Option<u64> {
        self.current = self.sources.iter().position(|(of, _)| *of == phase);
        let (_, loader) = &mut self.sources[self.current?];
        loader.begin(0, 0);
        Some(loader.batches())
    }

    /// The next batch; `None` after the last.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        self.current.map_or(Ok(None), |at| self.sources[at].1.next_batch())
    }
}

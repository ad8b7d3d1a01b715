//! A hook's own pass over data, beside that of the loop.

use super::loaders::Loaders;
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
    /// A walk over the same samples as these, which stay where they are.
    pub fn beside(loaders: &Loaders) -> Self {
        let evaluated = [
            (Phase::Val, &loaders.val),
            (Phase::Test, &loaders.test),
            (Phase::Pred, &loaders.pred),
        ];
        let evaluated = evaluated
            .into_iter()
            .filter_map(|(phase, loader)| loader.as_ref().map(|loader| (phase, loader.again())));
        let sources = std::iter::once((Phase::Train, loaders.train.again())).chain(evaluated);
        Self { sources: sources.collect(), current: None }
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

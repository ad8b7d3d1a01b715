//! `GradientAccumulationScheduler`: the number of micro-batches per batch, by epoch.

use hookrack_plugin_api::prelude::*;

/// Changes the number of micro-batches per batch at given epochs.
#[derive(Settings)]
pub(super) struct GradientAccumulationScheduler {
    /// Pairs of an epoch and the number of micro-batches from then on: `[[1, 1], [5, 4]]`.
    #[param(default, check = are_pairs)]
    scheduling: Vec<Vec<u64>>,
    #[param(skip)]
    parts: Option<u64>,
}

fn are_pairs(scheduling: &[Vec<u64>]) -> std::result::Result<(), String> {
    let is_pair = |pair: &&Vec<u64>| pair.len() == 2 && !pair.contains(&0);
    match scheduling.iter().find(|pair| !is_pair(pair)) {
        None => Ok(()),
        Some(other) => {
            Err(format!("{other:?} is not a pair `[epoch, parts]` with both at least 1"))
        }
    }
}

/// The number of micro-batches in an epoch; `None` before the first configured epoch.
fn parts(scheduling: &[Vec<u64>], epoch: u64) -> Option<u64> {
    let begun = scheduling.iter().filter(|pair| pair.first().is_some_and(|from| *from <= epoch));
    begun.max_by_key(|pair| pair[0])?.get(1).copied()
}

impl GradientAccumulationScheduler {
    /// Sets what the current epoch asks for.
    fn apply(&mut self, t: &mut Trainer) -> Result<()> {
        let wanted = parts(&self.scheduling, t.epoch());
        if let Some(parts) = wanted.filter(|_| wanted != self.parts) {
            t.set_accumulation(parts)?;
            info!("epoch {}: batches are split into {parts}", t.epoch());
            self.parts = wanted;
        }
        Ok(())
    }
}

#[hook(level = HIGHER, mutates = "grads")]
impl Hook for GradientAccumulationScheduler {
    // A resumed run is in the middle of an epoch, whose first point is not called again. Before the first epoch nothing applies.
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.apply(t)
    }

    // Batches are split when they are fetched, after this point.
    fn before_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        self.apply(t)
    }
}

#[cfg(test)]
mod tests {
    use super::{are_pairs, parts};

    #[test]
    fn an_invalid_pair_is_refused() {
        assert!(are_pairs(&[vec![1, 2], vec![3, 4]]).is_ok() && are_pairs(&[]).is_ok());
        for other in [vec![1], vec![1, 2, 3], vec![0, 2], vec![2, 0]] {
            assert!(are_pairs(&[vec![1, 1], other]).unwrap_err().contains("is not a pair"));
        }
    }

    #[test]
    fn the_last_pair_that_has_begun_counts() {
        let scheduling = [vec![5, 4], vec![2, 1], vec![9, 8]];
        let found: Vec<_> = [1, 2, 4, 5, 8, 9].map(|epoch| parts(&scheduling, epoch)).to_vec();
        assert_eq!(found, [None, Some(1), Some(1), Some(4), Some(4), Some(8)]);
        assert_eq!(parts(&[], 3), None);
    }
}

//! `AUROC`: how likely a sample of a class has a higher score than one of another.

use super::gathered::gathered;
use super::kept_scores::{KeptScores, mean_over};
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;

/// The area under the ROC curve; of more than two classes, the mean of each against the others.
#[derive(Settings)]
pub(super) struct Auroc {
    /// The most samples of a pass: every score is kept until its end.
    #[param(default = 10_000_000, min = 1)]
    limit: usize,
    /// Labels with this number do not count; unless set, that which the loss ignores.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    kept: KeptScores,
}
/// The share of pairs of a sample of the class and one of another that stand in the right order; equal scores are half
/// right. `None` where there is no such pair.
pub(super) fn area(ranking: &[(f64, bool)]) -> Option<f64> {
    let (mut found, mut right) = (0.0, 0.0);
    let mut others = 0.0;
    // Sorted from the best: what is not better than the next is equal to it.
    for tied in ranking.chunk_by(|a, b| a.0 <= b.0) {
        let (mut of_class, mut of_others) = (0.0, 0.0);
        for (_, is_class) in tied {
            *(if *is_class { &mut of_class } else { &mut of_others }) += 1.0;
        }
        right += of_others * (found + of_class / 2.0);
        found += of_class;
        others += of_others;
    }
    (found > 0.0 && others > 0.0).then(|| right / (found * others))
}

#[metric(better = "higher", aliases = "AUC")]
impl Metric for Auroc {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let limit = self.limit;
        classified(t, self.ignore_index, |batch| self.kept.add(batch, limit))
    }

    fn compute(&self) -> f64 {
        mean_over(self.kept.rankings().as_deref(), area)
    }

    gathered!(kept);
}

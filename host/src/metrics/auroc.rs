//! `AUROC`: the area under the ROC curve.

use super::gathered::gathered;
use super::kept_scores::{Ranked, mean_over};
use hookrack_plugin_api::prelude::*;

/// Area under the ROC curve; with more than two classes, the one-vs-rest mean.
#[derive(Settings)]
pub(super) struct Auroc {
    #[param(flatten)]
    ranked: Ranked,
}
/// The fraction of pairs of a positive and a negative sample that are in the right order; equal scores are half
/// right. `None` without such a pair.
pub(super) fn area(ranking: &[(f64, bool)]) -> Option<f64> {
    let (mut found, mut right) = (0.0, 0.0);
    let mut others = 0.0;
    // Sorted from the best: a score that is not better than the next one equals it.
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
        self.ranked.update(t)
    }

    fn compute(&self) -> f64 {
        mean_over(self.ranked.rankings().as_deref(), area)
    }

    gathered!(ranked.kept);
}

//! `AveragePrecision`: the precision at every place where a sample of the class is found.

use super::gathered::gathered;
use super::kept_scores::{KeptScores, Ranking, mean_over};
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;

/// The area under the curve of precision over recall, in steps; of more than two classes, the mean over those wanted.
#[derive(Settings)]
pub(super) struct AveragePrecision {
    /// The most samples of a pass: every score is kept until its end.
    #[param(default = 10_000_000, min = 1)]
    limit: usize,
    /// Labels with this number do not count; unless set, that which the loss ignores.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    kept: KeptScores,
}
/// The precision at each score, weighed by what is found there; `None` where nothing is to be found.
fn precision(ranking: &[(f64, bool)]) -> Option<f64> {
    let (mut found, mut seen, mut sum) = (0.0, 0.0, 0.0);
    // Sorted from the best: what is not better than the next is equal to it.
    for tied in ranking.chunk_by(|a, b| a.0 <= b.0) {
        let mut here = 0.0;
        for (_, is_class) in tied {
            here += f64::from(u8::from(*is_class));
            seen += 1.0;
        }
        found += here;
        sum += here * found / seen;
    }
    (found > 0.0).then(|| sum / found)
}

/// The precision of the one ranking, or the mean over those wanted.
pub(super) fn average(rankings: Option<&[Ranking]>) -> f64 {
    match rankings {
        // As scikit-learn has it: where there is nothing to find, nothing of it was found.
        Some([one]) if !one.is_empty() => precision(one).unwrap_or(0.0),
        rankings => mean_over(rankings, precision),
    }
}

#[metric(better = "higher")]
impl Metric for AveragePrecision {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let limit = self.limit;
        classified(t, self.ignore_index, |batch| self.kept.add(batch, limit))
    }

    fn compute(&self) -> f64 {
        average(self.kept.rankings().as_deref())
    }

    gathered!(kept);
}

//! `AveragePrecision`: the area under the precision-recall curve.

use super::gathered::gathered;
use super::kept_scores::{Ranked, Ranking, mean_over};
use hookrack_plugin_api::prelude::*;

/// Average precision, the step-wise area under the precision-recall curve; with more than two classes, the
/// one-vs-rest mean over the classes that occur in the labels.
#[derive(Settings)]
pub(super) struct AveragePrecision {
    #[param(flatten)]
    ranked: Ranked,
}
/// The precision at each score, weighted by the recall gained there; `None` without positive samples.
fn precision(ranking: &[(f64, bool)]) -> Option<f64> {
    let (mut found, mut seen, mut sum) = (0.0, 0.0, 0.0);
    // Sorted from the best: a score that is not better than the next one equals it.
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

/// The precision of a single ranking, or the mean over several.
pub(super) fn average(rankings: Option<&[Ranking]>) -> f64 {
    match rankings {
        // As in scikit-learn: 0 without positive samples.
        Some([one]) if !one.is_empty() => precision(one).unwrap_or(0.0),
        rankings => mean_over(rankings, precision),
    }
}

#[metric(better = "higher")]
impl Metric for AveragePrecision {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.ranked.update(t)
    }

    fn compute(&self) -> f64 {
        average(self.ranked.rankings().as_deref())
    }

    gathered!(ranked.kept);
}

//! `PrecisionRecallCurve`: how many of those found are right, over how many are found.

use super::average_precision::average;
use super::curve::{Axes, Curves, Points};
use super::gathered::gathered;
use super::kept_scores::KeptScores;
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;

/// Precision over recall, as a picture and in the report; its value is the average precision. Of more than two classes,
/// each against the others.
#[derive(Settings)]
pub(super) struct PrecisionRecallCurve {
    /// The most samples of a pass: every score is kept until its end.
    #[param(default = 10_000_000, min = 1)]
    limit: usize,
    /// Labels with this number do not count; unless set, that which the loss ignores.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    kept: KeptScores,
}

/// Recall and precision at each score, from (0, 1) on; `None` where nothing is to be found.
pub(super) fn points(ranking: &[(f64, bool)]) -> Option<Points> {
    let of_class: f64 = ranking.iter().filter(|(_, is_class)| *is_class).map(|_| 1.0).sum();
    if of_class <= 0.0 {
        return None;
    }
    let (mut found, mut seen) = (0.0, 0.0);
    let mut points = vec![(0.0, 1.0)];
    // Sorted from the best: what is not better than the next is equal to it.
    for tied in ranking.chunk_by(|a, b| a.0 <= b.0) {
        for (_, is_class) in tied {
            found += f64::from(u8::from(*is_class));
            seen += 1.0;
        }
        points.push((found / of_class, found / seen));
    }
    Some(points)
}

#[metric(better = "higher")]
impl Metric for PrecisionRecallCurve {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let limit = self.limit;
        classified(t, self.ignore_index, |batch| self.kept.add(batch, limit))
    }

    fn compute(&self) -> f64 {
        average(self.kept.rankings().as_deref())
    }

    fn report(&self, t: &mut Trainer) -> Result<()> {
        let axes = Axes { x: "recall", y: "precision", diagonal: false };
        let rankings = self.kept.rankings().unwrap_or_default();
        Curves::new(&rankings, points).show(t, &axes)
    }

    gathered!(kept);
}

//! `PrecisionRecallCurve`: precision over recall.

use super::average_precision::average;
use super::curve::{Axes, Curves, Points};
use super::gathered::gathered;
use super::kept_scores::Ranked;
use hookrack_plugin_api::prelude::*;

/// Precision-recall curve, as an image and in the report; its scalar is the average precision. With more than two
/// classes, one curve for each against the rest.
#[derive(Settings)]
pub(super) struct PrecisionRecallCurve {
    #[param(flatten)]
    ranked: Ranked,
}

/// Recall and precision at each score, from (0, 1) on; `None` without positive samples.
pub(super) fn points(ranking: &[(f64, bool)]) -> Option<Points> {
    let of_class: f64 = ranking.iter().filter(|(_, is_class)| *is_class).map(|_| 1.0).sum();
    if of_class <= 0.0 {
        return None;
    }
    let (mut found, mut seen) = (0.0, 0.0);
    let mut points = vec![(0.0, 1.0)];
    // Sorted from the best: a score that is not better than the next one equals it.
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
        self.ranked.update(t)
    }

    fn compute(&self) -> f64 {
        average(self.ranked.rankings().as_deref())
    }

    fn report(&self, t: &mut Trainer) -> Result<()> {
        let axes = Axes { x: "recall", y: "precision", diagonal: false };
        let rankings = self.ranked.rankings().unwrap_or_default();
        Curves::new(&rankings, points).show(t, &axes)
    }

    gathered!(ranked.kept);
}

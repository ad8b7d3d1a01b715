//! `ROC`: true positive rate over false positive rate.

use super::auroc::area;
use super::curve::{Axes, Curves, Points};
use super::gathered::gathered;
use super::kept_scores::{Ranked, mean_over};
use hookrack_plugin_api::prelude::*;

/// ROC curve, as an image and in the report; its scalar is the area under it. With more than two classes, one curve
/// for each against the rest.
#[derive(Settings)]
pub(super) struct Roc {
    #[param(flatten)]
    ranked: Ranked,
}

/// False and true positive rates at each score, from (0, 0) on; `None` with only one class.
pub(super) fn points(ranking: &[(f64, bool)]) -> Option<Points> {
    let count = |wanted: bool| {
        ranking.iter().filter(|(_, is_class)| *is_class == wanted).map(|_| 1.0).sum::<f64>()
    };
    let (of_class, of_others) = (count(true), count(false));
    if of_class <= 0.0 || of_others <= 0.0 {
        return None;
    }
    let (mut found, mut taken) = (0.0, 0.0);
    let mut points = vec![(0.0, 0.0)];
    // Sorted from the best: a score that is not better than the next one equals it.
    for tied in ranking.chunk_by(|a, b| a.0 <= b.0) {
        for (_, is_class) in tied {
            *(if *is_class { &mut found } else { &mut taken }) += 1.0;
        }
        points.push((taken / of_others, found / of_class));
    }
    Some(points)
}

#[metric(better = "higher")]
impl Metric for Roc {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.ranked.update(t)
    }

    fn compute(&self) -> f64 {
        mean_over(self.ranked.rankings().as_deref(), area)
    }

    fn report(&self, t: &mut Trainer) -> Result<()> {
        let axes = Axes { x: "false positive rate", y: "true positive rate", diagonal: true };
        let rankings = self.ranked.rankings().unwrap_or_default();
        Curves::new(&rankings, points).show(t, &axes)
    }

    gathered!(ranked.kept);
}

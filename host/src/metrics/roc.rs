//! `ROC`: the share of a class that is found, over the share of the others that is taken for it.

use super::auroc::area;
use super::curve::{Axes, Curves, Points};
use super::gathered::gathered;
use super::kept_scores::{KeptScores, mean_over};
use super::numbers::{IGNORED, classified};
use hookrack_plugin_api::prelude::*;

/// The receiver operating characteristic, as a picture and in the report; its value is the area under it. Of more than
/// two classes, each against the others.
#[derive(Settings)]
pub(super) struct Roc {
    /// The most samples of a pass: every score is kept until its end.
    #[param(default = 10_000_000, min = 1)]
    limit: usize,
    /// Labels with this number do not count; unless set, that which the loss ignores.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    kept: KeptScores,
}

/// False and true positive rates at each score, from (0, 0) on; `None` where there is a class alone.
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
    // Sorted from the best: what is not better than the next is equal to it.
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
        let limit = self.limit;
        classified(t, self.ignore_index, |batch| self.kept.add(batch, limit))
    }

    fn compute(&self) -> f64 {
        mean_over(self.kept.rankings().as_deref(), area)
    }

    fn report(&self, t: &mut Trainer) -> Result<()> {
        let axes = Axes { x: "false positive rate", y: "true positive rate", diagonal: true };
        let rankings = self.kept.rankings().unwrap_or_default();
        Curves::new(&rankings, points).show(t, &axes)
    }

    gathered!(kept);
}

//! All scores of a pass, for metrics that depend on the order of all of them.

use super::numbers::{Classified, IGNORED, classified};
use super::softmax::log_probabilities;
use hookrack_plugin_api::prelude::*;

/// Scores and classes of a pass: 4 bytes for each score and 8 for each sample, up to a limit that the config sets.
#[derive(Default)]
pub(super) struct KeptScores {
    width: usize,
    scores: Vec<f32>,
    labels: Vec<i64>,
}

/// The settings of a metric of rankings, and what it keeps.
#[derive(Settings)]
pub(super) struct Ranked {
    /// Maximum number of samples in a pass; all scores are kept until its end.
    #[param(default = 10_000_000, min = 1)]
    limit: usize,
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    pub(super) kept: KeptScores,
}

impl Ranked {
    /// Keeps the batch.
    pub(super) fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let limit = self.limit;
        classified(t, self.ignore_index, |batch| self.kept.add(batch, limit))
    }

    /// As [`KeptScores::rankings`].
    pub(super) fn rankings(&self) -> Option<Vec<Ranking>> {
        self.kept.rankings()
    }
}

/// One class against all others: each sample's score, and whether it is of the class. The best score comes first.
pub(super) type Ranking = Vec<(f64, bool)>;

impl KeptScores {
    /// Keeps a batch.
    ///
    /// # Errors
    /// The pass has more samples than `limit`.
    pub(super) fn add(&mut self, batch: Classified<'_>, limit: usize) -> Result<()> {
        ensure!(
            self.labels.len() + batch.labels.len() <= limit,
            "all scores of a pass are kept, but there are more than `limit` = {limit} samples: increase `limit`"
        );
        ensure!(
            self.labels.is_empty() || self.width == batch.width,
            "a batch has {} scores per sample, earlier ones had {}",
            batch.width,
            self.width
        );
        self.width = batch.width;
        for row in batch.rows() {
            let (row, class) = row?;
            self.scores.extend(row);
            self.labels.push(i64::try_from(class)?);
        }
        Ok(())
    }

    fn kept(&self) -> Classified<'_> {
        // Ignored samples were not kept, and no class is negative.
        Classified { scores: &self.scores, width: self.width, labels: &self.labels, ignored: -1 }
    }

    /// Class 1 against class 0 if there are two, else each class that occurs against the others, by probability.
    /// `None` if any score is NaN: the order is then undefined.
    pub(super) fn rankings(&self) -> Option<Vec<Ranking>> {
        if self.scores.iter().any(|score| score.is_nan()) {
            return None;
        }
        let classes = if self.width > 2 { 0..self.width } else { 1..2 };
        Some(classes.map(|class| self.ranking(class)).collect())
    }

    fn ranking(&self, class: usize) -> Ranking {
        let score = |row: &[f32]| match *row {
            [score] => f64::from(score),
            // Any monotonic function of the probability has the same order.
            [no, yes] => f64::from(yes) - f64::from(no),
            _ => log_probabilities(row).nth(class).unwrap_or(f64::NAN),
        };
        let kept = self.kept();
        let rows = kept.rows().filter_map(Result::ok);
        let mut ranking: Ranking =
            rows.map(|(row, wanted)| (score(row), wanted == class)).collect();
        ranking.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranking
    }

    pub(super) fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        let width = other.value::<usize>("width")?;
        ensure!(
            self.labels.is_empty() || width == 0 || self.width == width,
            "{width} scores per sample do not match {}",
            self.width
        );
        self.width = self.width.max(width);
        self.scores.extend(other.value::<Vec<f32>>("scores")?);
        self.labels.extend(other.value::<Vec<i64>>("labels")?);
        Ok(())
    }

    pub(super) fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("width", self.width)?;
        state.put("scores", self.scores.clone())?;
        state.put("labels", self.labels.clone())
    }
}

/// The mean of a value over the rankings that have one; NaN if none has.
pub(super) fn mean_over(
    rankings: Option<&[Ranking]>,
    value: impl Fn(&[(f64, bool)]) -> Option<f64>,
) -> f64 {
    let values: Vec<f64> =
        rankings.iter().copied().flatten().filter_map(|ranking| value(ranking)).collect();
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer classes than 2^53")]
    let count = values.len() as f64;
    if values.is_empty() { f64::NAN } else { values.iter().sum::<f64>() / count }
}

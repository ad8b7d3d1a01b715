//! `Spearman`: the rank correlation of outputs and labels.

use super::gathered::gathered;
use super::moments::of_pairs;
use super::numbers::{Paired, paired};
use hookrack_plugin_api::prelude::*;

/// Spearman rank correlation of outputs and labels, one number per sample.
#[derive(Settings)]
pub(super) struct Spearman {
    /// Maximum number of samples in a pass; all outputs and labels are kept until its end.
    #[param(default = 10_000_000, min = 1)]
    limit: usize,
    #[param(skip)]
    kept: Pairs,
}
/// All outputs and labels of a pass.
#[derive(Default)]
struct Pairs {
    outputs: Vec<f32>,
    labels: Vec<f32>,
}

/// The rank of each value, from 1; equal values share the mean of their ranks.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer samples than 2^53")]
fn ranks(values: &[f32]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let (mut ranks, mut before) = (vec![0.0; values.len()], 0);
    // Sorted from the smallest: a value that is not less than the next one equals it.
    for tied in order.chunk_by(|a, b| values[*a] >= values[*b]) {
        let shared = before as f64 + (tied.len() + 1) as f64 / 2.0;
        for index in tied {
            ranks[*index] = shared;
        }
        before += tied.len();
    }
    ranks
}

impl Pairs {
    fn add(&mut self, batch: Paired<'_>, limit: usize) -> Result<()> {
        ensure!(batch.columns == 1, "expected one number per sample, found {}", batch.columns);
        ensure!(
            self.labels.len() + batch.labels.len() <= limit,
            "all outputs of a pass are kept, but there are more than `limit` = {limit} samples: increase `limit`"
        );
        self.outputs.extend(batch.outputs);
        self.labels.extend(batch.labels);
        Ok(())
    }

    fn correlation(&self) -> f64 {
        let mut all = self.outputs.iter().chain(&self.labels);
        if all.any(|value| value.is_nan()) {
            return f64::NAN;
        }
        of_pairs(ranks(&self.outputs).into_iter().zip(ranks(&self.labels))).pearson()
    }

    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        self.outputs.extend(other.value::<Vec<f32>>("outputs")?);
        self.labels.extend(other.value::<Vec<f32>>("labels")?);
        Ok(())
    }

    fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("outputs", self.outputs.clone())?;
        state.put("labels", self.labels.clone())
    }
}

#[metric(better = "higher")]
impl Metric for Spearman {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let limit = self.limit;
        paired(t, |batch| self.kept.add(batch, limit))
    }

    fn compute(&self) -> f64 {
        self.kept.correlation()
    }

    gathered!(kept);
}

#[cfg(test)]
mod tests {
    use super::ranks;

    #[test]
    fn equal_values_share_their_places() {
        assert_eq!(ranks(&[10.0, 20.0, 10.0, 5.0]), [2.5, 4.0, 2.5, 1.0]);
        assert_eq!(ranks(&[0.0, -0.0]), [1.5, 1.5]);
    }
}

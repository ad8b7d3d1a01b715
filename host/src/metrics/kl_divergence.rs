//! `KLDivergence`: the divergence of the output's distribution from the target.

use super::mean::{Mean, mean_value};
use super::numbers::{Paired, paired};
use super::softmax::log_probabilities;
use hookrack_plugin_api::prelude::*;

/// Mean Kullback-Leibler divergence of the outputs from labels that are probabilities, summed over classes.
#[derive(Settings)]
pub(super) struct KlDivergence {
    /// Outputs are logits; otherwise log-probabilities.
    #[param(default = true)]
    logits: bool,
    #[param(skip)]
    mean: Mean,
}
/// One term; 0 if the target probability is 0.
fn term(log_q: f64, p: f64) -> f64 {
    if p == 0.0 && !log_q.is_nan() { 0.0 } else { p * (p.ln() - log_q) }
}

fn divergence(batch: Paired<'_>, logits: bool) -> f64 {
    let columns = batch.columns.max(1);
    let rows = batch.outputs.chunks_exact(columns).zip(batch.labels.chunks_exact(columns));
    rows.map(|(output, label)| {
        let wanted = label.iter().map(|p| f64::from(*p));
        if logits {
            log_probabilities(output).zip(wanted).map(|(log_q, p)| term(log_q, p)).sum::<f64>()
        } else {
            output.iter().zip(wanted).map(|(log_q, p)| term(f64::from(*log_q), p)).sum()
        }
    })
    .sum()
}

#[metric(better = "lower")]
impl Metric for KlDivergence {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        self.mean.add(paired(t, |batch| Ok((divergence(batch, self.logits), batch.samples())))?);
        Ok(())
    }

    mean_value!(mean);
}

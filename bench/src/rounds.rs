//! Short interleaved rounds of all cases, so that a disturbance of the machine affects all of them equally.

use crate::error::BenchError;
use std::time::{Duration, Instant};

/// Something that is called many times.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Hook calls that one pass makes, 1 or more.
    pub(crate) calls: u32,
    /// Makes this many passes; returns how many failed.
    pub(crate) run: Box<dyn FnMut(u32) -> u32>,
}

impl Case {
    pub(crate) fn new(
        name: impl Into<String>,
        calls: u32,
        run: impl FnMut(u32) -> u32 + 'static,
    ) -> Self {
        Self { name: name.into(), calls, run: Box::new(run) }
    }
}

/// The passes of one round of one case: a few milliseconds at most.
const PASSES: u32 = 200_000;

/// The nanoseconds per call of each case, in the best of several rounds.
pub(crate) fn best_of(rounds: u32, cases: &mut [Case]) -> Result<Vec<f64>, BenchError> {
    let mut best = vec![f64::INFINITY; cases.len()];
    for _ in 0..rounds {
        for (case, best) in cases.iter_mut().zip(&mut best) {
            let passes = PASSES / case.calls;
            let began = Instant::now();
            let failures = (case.run)(passes);
            let time = began.elapsed();
            if failures > 0 {
                return Err(BenchError::Calls { name: case.name.clone(), failures });
            }
            *best = best.min(nanoseconds(time) / f64::from(passes * case.calls));
        }
    }
    Ok(best)
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// The median; NaN for an empty slice.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// A quantile; NaN for an empty slice.
#[expect(clippy::cast_precision_loss, reason = "a bench has few rounds")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction of a length is an index"
)]
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values = [3.0, 1.0, 2.0, 5.0, 4.0];
        assert_eq!(
            [0.25, 0.5, 1.0].map(|share| quantile(&values, share).to_string()),
            ["2", "3", "5"]
        );
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_case_that_fails_is_not_measured() {
        let mut cases = [Case::new("fails", 1, |_| 3)];
        let text = best_of(1, &mut cases).unwrap_err().to_string();
        assert_eq!(text, "3 calls of `fails` failed");
    }
}

//! Cosine curves.

use hookrack_plugin_api::prelude::Settings;

use super::curve::{Curve, Rate, Span};
use super::shape::{cosine, real, share};

/// Half a cosine to `eta_min` at the end of the run.
#[derive(Debug, Clone, Settings)]
pub(super) struct Cosine {
    /// Learning rate at the end.
    #[param(default = 0.0, min = 0.0)]
    eta_min: f64,
}

/// The same over `t_max` steps: PyTorch's `CosineAnnealingLR`.
#[derive(Debug, Clone, Settings)]
pub(super) struct CosineOver {
    /// Learning rate at the end.
    #[param(default = 0.0, min = 0.0)]
    eta_min: f64,
    /// Steps from the maximum to the minimum. Default: the whole run.
    #[param(min = 1)]
    t_max: Option<u64>,
}

/// Half a cosine to a fraction of the rate: LiBai's.
#[derive(Debug, Clone, Settings)]
pub(super) struct CosineToShare {
    /// Final learning rate as a fraction of the rate.
    #[param(default = 0.0, min = 0.0, max = 1.0)]
    alpha: f64,
}

/// Several waves of a cosine: Hugging Face's.
#[derive(Debug, Clone, Settings)]
pub(super) struct CosineWaves {
    /// Number of waves over the run; 0.5 decreases to 0 once.
    #[param(default = 0.5, min = 0.0)]
    num_cycles: f64,
}

/// Several half cosines down, each from the top: Hugging Face's.
#[derive(Debug, Clone, Settings)]
pub(super) struct HardRestarts {
    /// Number of cycles over the run, each from the maximum to 0.
    #[param(default = 1, min = 1)]
    num_cycles: u64,
}

/// Half cosines of growing length: PyTorch's.
#[derive(Debug, Clone, Settings)]
pub(super) struct WarmRestarts {
    /// Steps until the first restart.
    #[param(min = 1)]
    t_0: u64,
    /// Factor by which the number of steps increases after each restart.
    #[param(default = 1, min = 1)]
    t_mult: u64,
    /// Learning rate at the end of each cycle.
    #[param(default = 0.0, min = 0.0)]
    eta_min: f64,
}

/// Flat, then half a cosine to 0: `ColossalAI`'s.
#[derive(Debug, Clone, Settings)]
pub(super) struct FlatThenZero {
    /// Fraction of the run with a constant rate.
    #[param(default = 0.72, min = 0.0, max = 1.0)]
    pct_start: f64,
}

/// Flat, then half a cosine to `eta_min`: `ColossalAI`'s.
#[derive(Debug, Clone, Settings)]
pub(super) struct FlatThenCosine {
    /// Fraction of the steps after the warm-up with a constant rate.
    #[param(default = 0.72, min = 0.0, max = 1.0)]
    pct_start: f64,
    /// Learning rate at the end.
    #[param(default = 0.0, min = 0.0)]
    eta_min: f64,
}

impl Curve for Cosine {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(Box::new(move |base, step| cosine(base, self.eta_min, share(step, span.steps()))))
    }
}

impl Curve for CosineOver {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(Box::new(move |base, step| {
            let run = || share(step, span.steps());
            let done = self.t_max.map_or_else(run, |t_max| real(step) / real(t_max));
            cosine(base, self.eta_min, done)
        }))
    }
}

impl Curve for CosineToShare {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(Box::new(move |base, step| cosine(base, self.alpha * base, share(step, span.steps()))))
    }
}

impl Curve for CosineWaves {
    fn rate(self, span: Span) -> Result<Rate, String> {
        let waves = 2.0 * self.num_cycles;
        Ok(Box::new(move |base, step| cosine(base, 0.0, waves * share(step, span.steps()))))
    }
}

impl Curve for HardRestarts {
    fn rate(self, span: Span) -> Result<Rate, String> {
        Ok(Box::new(move |base, step| {
            let done = share(step, span.steps());
            // The end of the last fall is its bottom, not the top of another one.
            let within = if done < 1.0 { (real(self.num_cycles) * done).fract() } else { 1.0 };
            cosine(base, 0.0, within)
        }))
    }
}

impl Curve for WarmRestarts {
    fn rate(self, _span: Span) -> Result<Rate, String> {
        Ok(Box::new(move |base, step| {
            let (step, length) = place(step, self.t_0, self.t_mult);
            cosine(base, self.eta_min, share(step, length))
        }))
    }
}

/// The step within its fall, and the length of that fall.
fn place(mut step: u64, mut length: u64, longer: u64) -> (u64, u64) {
    if longer == 1 {
        return (step % length, length);
    }
    while step >= length {
        step -= length;
        length = length.saturating_mul(longer);
    }
    (step, length)
}

impl Curve for FlatThenZero {
    fn rate(self, span: Span) -> Result<Rate, String> {
        FlatThenCosine { pct_start: self.pct_start, eta_min: 0.0 }.rate(span)
    }
}

impl Curve for FlatThenCosine {
    fn rate(self, span: Span) -> Result<Rate, String> {
        let total = span.steps();
        let flat = part_of(total, self.pct_start);
        Ok(Box::new(move |base, step| {
            cosine(base, self.eta_min, share(step.saturating_sub(flat), total - flat))
        }))
    }
}

/// A fraction of the steps, rounded down; at most all of them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1 of a count; a cast from a float saturates"
)]
fn part_of(total: u64, share: f64) -> u64 {
    ((real(total) * share) as u64).min(total)
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_fall_begins_where_the_last_one_ends() {
        assert_eq!(
            [0, 2, 3, 8, 9].map(|step| place(step, 3, 2)),
            [(0, 3), (2, 3), (0, 6), (5, 6), (0, 12)]
        );
        assert_eq!(place(1_000_000_000_000, 3, 1), (1, 3));
    }
}

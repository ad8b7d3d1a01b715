//! Loss over learning rate: smoothing, divergence, and the rate at which the loss falls fastest.

use hookrack_plugin_api::prelude::*;

/// The smoothing factor.
const SMOOTHING: f64 = 0.9;

/// Points to ignore at either end: the first ones are noise, the last ones begin to diverge.
const SKIPPED: usize = 3;

/// Loss over learning rate.
#[derive(Default)]
pub(super) struct Curve {
    points: Vec<Point>,
    average: f64,
    best: Option<f64>,
}

/// One iteration of the test.
#[derive(Clone, Copy)]
pub(super) struct Point {
    /// The rate.
    pub(super) lr: f64,
    /// The raw loss.
    pub(super) loss: f64,
    /// The loss, smoothed.
    pub(super) smooth: f64,
}

/// The rates and losses, in turn; the rest follows from them.
impl StateField for Curve {
    fn save(&self, key: &str, state: &mut StateWriter<'_>) -> Result<()> {
        let numbers = self.points.iter().flat_map(|point| [point.lr, point.loss]);
        state.put(key, numbers.collect::<Vec<f64>>())
    }

    fn load(&mut self, key: &str, state: &StateReader<'_>) -> Result<()> {
        let numbers: Vec<f64> = state.value(key)?;
        *self = Self::default();
        numbers.chunks_exact(2).for_each(|pair| self.push(pair[0], pair[1]));
        Ok(())
    }
}

impl Curve {
    /// Adds an iteration. The mean is weighted towards the last values and corrected for its beginning at 0.
    pub(super) fn push(&mut self, lr: f64, loss: f64) {
        self.average = SMOOTHING * self.average + (1.0 - SMOOTHING) * loss;
        let steps = i32::try_from(self.points.len() + 1).unwrap_or(i32::MAX);
        let smooth = self.average / (1.0 - SMOOTHING.powi(steps));
        if smooth.is_finite() {
            self.best = Some(self.best.map_or(smooth, |best| best.min(smooth)));
        }
        self.points.push(Point { lr, loss, smooth });
    }

    /// The iterations so far.
    pub(super) fn points(&self) -> &[Point] {
        &self.points
    }

    /// Whether the loss is NaN or infinite, or `threshold` times its best.
    pub(super) fn is_diverging(&self, threshold: f64) -> bool {
        let (Some(last), Some(best)) = (self.points.last(), self.best) else {
            return self.points.last().is_some_and(|last| !last.smooth.is_finite());
        };
        !last.smooth.is_finite() || (threshold > 0.0 && last.smooth > threshold * best)
    }

    /// The rate at which the smoothed loss falls fastest over the logarithm of the rate.
    pub(super) fn suggestion(&self) -> Option<f64> {
        let finite = self.points.iter().take_while(|point| point.smooth.is_finite());
        let points: Vec<_> = finite.collect();
        let inner = points.get(SKIPPED..points.len().saturating_sub(SKIPPED))?;
        let slope = |pair: &[&Point]| {
            let [a, b] = pair else { return 0.0 };
            (b.smooth - a.smooth) / (b.lr.ln() - a.lr.ln())
        };
        let steepest = inner.windows(2).min_by(|a, b| slope(a).total_cmp(&slope(b)))?;
        (slope(steepest) < 0.0).then(|| steepest[0].lr)
    }

    /// The curve as JSON.
    pub(super) fn json(&self) -> String {
        let number = |value: f64| {
            if value.is_finite() { format!("{value:e}") } else { "null".to_owned() }
        };
        let rows = self.points.iter().map(|point| {
            let [lr, loss, smooth] = [point.lr, point.loss, point.smooth].map(number);
            format!("{{\"lr\":{lr},\"loss\":{loss},\"smooth\":{smooth}}}")
        });
        let rows: Vec<_> = rows.collect();
        let suggestion = self.suggestion().map_or("null".to_owned(), number);
        format!("{{\"suggestion\":{suggestion},\"points\":[{}]}}\n", rows.join(",\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loss that is flat, falls around 10⁻³, and explodes above 10⁻¹.
    fn typical() -> Curve {
        let mut curve = Curve::default();
        for step in 0..=100 {
            let exponent = -6.0 + 6.0 * f64::from(step) / 100.0;
            let falling = 2.0 / (1.0 + (4.0 * (exponent + 3.0)).exp());
            let exploding = (8.0 * (exponent + 0.5)).exp();
            curve.push(10f64.powf(exponent), 0.3 + falling + exploding);
            if curve.is_diverging(4.0) {
                break;
            }
        }
        curve
    }

    #[test]
    fn the_suggestion_is_where_the_loss_falls() {
        let lr = typical().suggestion().unwrap();
        assert!((3e-4..1e-2).contains(&lr), "{lr}");
    }

    #[test]
    fn the_test_ends_when_the_loss_explodes() {
        assert!(typical().points().len() < 101);
        let mut curve = Curve::default();
        curve.push(1e-3, 1.0);
        assert!(!curve.is_diverging(4.0));
        curve.push(1e-2, f64::NAN);
        assert!(curve.is_diverging(0.0) && curve.json().contains("null"));
    }

    #[test]
    fn a_loss_that_only_rises_suggests_nothing() {
        let mut curve = Curve::default();
        (1..50).for_each(|step| curve.push(f64::from(step) * 1e-3, f64::from(step)));
        assert_eq!(curve.suggestion(), None);
        assert_eq!(Curve::default().suggestion(), None);
    }
}

//! A linear model that is trained by hand, in doubles.

use super::bench;
use crate::workbench::RunFolder;

pub(super) const FEATURES: usize = 3;
pub(super) const CLASSES: usize = 3;
pub(super) const SAMPLES: [([f64; FEATURES], usize); 6] = [
    ([1.0, 0.5, -1.0], 0),
    ([0.2, -0.4, 0.8], 1),
    ([-1.5, 2.0, 0.3], 2),
    ([0.7, 0.1, 0.9], 0),
    ([-0.6, -1.2, 0.4], 1),
    ([2.0, 1.0, 0.5], 2),
];

/// The weights of a linear model, a row of features and a bias for each class; or a gradient.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Linear {
    pub(super) rows: Vec<[f64; FEATURES + 1]>,
}

impl Linear {
    pub(super) fn read(run: &RunFolder, iter: u64) -> Self {
        let tensors = run.model(iter);
        let (weight, bias) = (&tensors["layers.0.weight"], &tensors["layers.0.bias"]);
        let number = |class: usize, i: usize| match i {
            FEATURES => f64::from(bias[class]),
            i => f64::from(weight[class * FEATURES + i]),
        };
        let row = |class| std::array::from_fn(|i| number(class, i));
        Self { rows: (0..CLASSES).map(row).collect() }
    }

    pub(super) fn scores(&self, features: [f64; FEATURES]) -> Vec<f64> {
        let score = |row: &[f64; FEATURES + 1]| {
            let sum: f64 = features.iter().zip(row).map(|(x, w)| x * w).sum();
            sum + row[FEATURES]
        };
        self.rows.iter().map(score).collect()
    }

    pub(super) fn probabilities(&self, features: [f64; FEATURES]) -> Vec<f64> {
        let scores: Vec<f64> = self.scores(features).into_iter().map(f64::exp).collect();
        scores.iter().map(|score| score / scores.iter().sum::<f64>()).collect()
    }

    /// The mean over all samples of `of` applied to the probability of the true class.
    pub(super) fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let each = SAMPLES.map(|(features, label)| of(self.probabilities(features)[label]));
        each.iter().sum::<f64>() / 6.0
    }

    /// The gradient of the mean cross entropy.
    pub(super) fn gradient(&self) -> Self {
        self.gradient_at(|features, _| features)
    }

    /// As [`gradient`](Self::gradient), of samples that were moved.
    pub(super) fn gradient_at(
        &self,
        moved: impl Fn([f64; FEATURES], usize) -> [f64; FEATURES],
    ) -> Self {
        let mut rows = vec![[0.0; FEATURES + 1]; CLASSES];
        for (features, label) in SAMPLES {
            let features = moved(features, label);
            for (class, p) in self.probabilities(features).into_iter().enumerate() {
                let error = (p - f64::from(u8::from(class == label))) / 6.0;
                for (i, out) in rows[class].iter_mut().enumerate() {
                    *out += error * features.get(i).unwrap_or(&1.0);
                }
            }
        }
        Self { rows }
    }

    pub(super) fn plus(&self, other: &Self, factor: f64) -> Self {
        let add = |(a, b): (&[f64; 4], &[f64; 4])| std::array::from_fn(|i| a[i] + factor * b[i]);
        Self { rows: self.rows.iter().zip(&other.rows).map(add).collect() }
    }

    pub(super) fn norm(&self) -> f64 {
        self.rows.iter().flatten().map(|x| x * x).sum::<f64>().sqrt()
    }

    pub(super) fn step(&self) -> Self {
        self.plus(&self.gradient(), -0.5)
    }

    /// Floats of some steps against doubles: a few dozen roundings of numbers of about 1.
    #[track_caller]
    pub(super) fn assert_near(&self, other: &Self) {
        let far = self.plus(other, -1.0).norm();
        assert!(far < 1e-5, "{far} between {self:?} and {other:?}");
    }

    #[track_caller]
    pub(super) fn assert_far(&self, other: &Self) {
        assert!(self.plus(other, -1.0).norm() > 1e-3, "{self:?} is like {other:?}");
    }
}

/// The weights that a run begins with: one that does not learn ends with them.
pub(super) fn initial() -> Linear {
    Linear::read(&bench("").trained("still", &["optimizer.lr=0"]), 4)
}

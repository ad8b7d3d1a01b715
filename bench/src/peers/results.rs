//! All rounds together: medians, quartiles, and ratios within a round.

use super::framework::Framework;
use super::measured::Measured;
use super::model::Model;
use crate::rounds::quantile;
use std::collections::BTreeMap;

/// The middle of some values, and the half of them around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Quartiles {
    pub(crate) fn of(values: &[f64]) -> Self {
        let [low, median, high] = [0.25, 0.5, 0.75].map(|share| quantile(values, share));
        Self { low, median, high }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Figure {
    /// More is better.
    Speed,
    /// Less is better.
    FirstStep,
    /// Less is better.
    Peak,
}

impl Figure {
    fn of(self, measured: &Measured) -> f64 {
        match self {
            Self::Speed => measured.steps_per_second,
            Self::FirstStep => measured.first_step,
            Self::Peak => measured.peak,
        }
    }

    /// How many times as good ours is as theirs.
    fn advantage(self, ours: &Measured, theirs: &Measured) -> f64 {
        let (ours, theirs) = (self.of(ours), self.of(theirs));
        match self {
            Self::Speed => ours / theirs,
            Self::FirstStep | Self::Peak => theirs / ours,
        }
    }
}

/// Every round of one model. A framework that failed in any of them is not here.
pub(crate) struct Trained {
    pub(crate) model: &'static Model,
    pub(crate) by: BTreeMap<Framework, Vec<Measured>>,
}

impl Trained {
    pub(crate) fn new(model: &'static Model) -> Self {
        Self { model, by: BTreeMap::new() }
    }

    /// A figure of one framework.
    pub(crate) fn figure(&self, framework: Framework, figure: Figure) -> Quartiles {
        let rounds = self.by.get(&framework).into_iter().flatten();
        Quartiles::of(&rounds.map(|measured| figure.of(measured)).collect::<Vec<_>>())
    }

    /// How many times as good hookrack is, by rounds; `None` without that framework.
    pub(crate) fn advantage(&self, over: Framework, figure: Figure) -> Option<Quartiles> {
        let (ours, theirs) = (self.by.get(&Framework::Hookrack)?, self.by.get(&over)?);
        let pairs = ours.iter().zip(theirs);
        let ratios: Vec<_> = pairs.map(|(ours, theirs)| figure.advantage(ours, theirs)).collect();
        Some(Quartiles::of(&ratios))
    }

    /// The fastest of the rivals.
    pub(crate) fn best_peer(&self) -> Option<Framework> {
        let speed = |framework: &Framework| self.figure(*framework, Figure::Speed).median;
        let peers = self.by.keys().copied().filter(|framework| framework.is_rival());
        peers.max_by(|a, b| speed(a).total_cmp(&speed(b)))
    }

    /// The last loss, of the first round.
    pub(crate) fn loss(&self, framework: Framework) -> f64 {
        self.by.get(&framework).and_then(|rounds| rounds.first()).map_or(f64::NAN, |it| it.loss)
    }
}

/// A peer that could not train a model, and why.
pub(crate) struct Missing {
    pub(crate) framework: Framework,
    pub(crate) model: &'static Model,
    pub(crate) why: String,
}

/// Everything that was trained.
pub(crate) struct Results {
    pub(crate) rounds: usize,
    pub(crate) trained: Vec<Trained>,
    pub(crate) missing: Vec<Missing>,
}

impl Results {
    /// A model's rounds, if it was chosen.
    pub(crate) fn of(&self, name: &str) -> Option<&Trained> {
        self.trained.iter().find(|trained| trained.model.name == name)
    }

    /// The versions of all packages.
    pub(crate) fn versions(&self) -> BTreeMap<&str, &str> {
        let measured = self.trained.iter().flat_map(|trained| trained.by.values().flatten());
        let versions = measured.flat_map(|measured| &measured.versions);
        versions.map(|(name, version)| (name.as_str(), version.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::named;
    use super::*;

    fn rounds(speeds: [f64; 3]) -> Vec<Measured> {
        let measured = |steps_per_second: f64| Measured {
            steps_per_second,
            first_step: 100.0 / steps_per_second,
            loss: 1.0,
            peak: 1.0,
            versions: BTreeMap::new(),
        };
        speeds.map(measured).into()
    }

    fn trained() -> Trained {
        let mut trained = Trained::new(named("cnn").unwrap());
        trained.by.insert(Framework::Hookrack, rounds([10.0, 40.0, 20.0]));
        trained.by.insert(Framework::Torch, rounds([10.0, 20.0, 10.0]));
        trained.by.insert(Framework::Jax, rounds([5.0, 40.0, 15.0]));
        trained
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let ratio = trained().advantage(Framework::Torch, Figure::Speed).unwrap();
        assert_eq!(ratio, Quartiles { low: 2.0, median: 2.0, high: 2.0 }, "of 1, 2 and 2");
        let start = trained().advantage(Framework::Torch, Figure::FirstStep).unwrap();
        assert_eq!(start.median.to_string(), "2");
        assert_eq!(trained().advantage(Framework::Lightning, Figure::Speed), None);
    }

    #[test]
    fn the_best_peer_is_the_one_with_the_highest_median() {
        assert_eq!(trained().best_peer(), Some(Framework::Jax));
        assert_eq!(Trained::new(named("cnn").unwrap()).best_peer(), None);
    }
}

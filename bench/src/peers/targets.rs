//! The targets of hookrack relative to its peers.

use super::framework::Framework;
use super::results::{Figure, Quartiles, Results};
use super::tensors::Tensors;
use crate::many_hooks;

/// Whom a goal is about.
#[derive(Clone, Copy)]
enum Over {
    One(Framework),
    /// The fastest one, whoever it is.
    Best,
}

/// A goal: the model, whom it is compared with, in what, and how many times as good it must be.
struct Goal(&'static str, Over, Figure, f64);

const GOALS: [Goal; 16] = [
    Goal("mlp", Over::One(Framework::Tch), Figure::Speed, 1.1),
    Goal("cnn", Over::One(Framework::Tch), Figure::Speed, 1.15),
    Goal("resnet18", Over::One(Framework::Tch), Figure::Speed, 1.2),
    Goal("gpt", Over::One(Framework::Tch), Figure::Speed, 1.05),
    Goal("mlp", Over::One(Framework::Jax), Figure::Speed, 1.2),
    Goal("mlp", Over::One(Framework::Ignite), Figure::Speed, 3.0),
    Goal("mlp", Over::One(Framework::Transformers), Figure::Speed, 5.0),
    Goal("mlp", Over::One(Framework::Lightning), Figure::Speed, 6.0),
    Goal("mlp", Over::One(Framework::MmEngine), Figure::Speed, 8.0),
    Goal("mlp_ema", Over::One(Framework::Jax), Figure::Speed, 1.2),
    Goal("cnn", Over::Best, Figure::Speed, 1.15),
    Goal("resnet18", Over::Best, Figure::Speed, 1.1),
    Goal("gpt", Over::Best, Figure::Speed, 1.05),
    Goal("mlp", Over::One(Framework::Torch), Figure::FirstStep, 4.0),
    Goal("mlp", Over::One(Framework::Lightning), Figure::FirstStep, 12.0),
    Goal("mlp", Over::One(Framework::Torch), Figure::Peak, 3.0),
];

/// A goal and what was found.
pub(crate) struct Verdict {
    pub(crate) name: String,
    pub(crate) ratio: Quartiles,
    pub(crate) least: f64,
}

impl Verdict {
    /// NaN, which is what a missing peer has, meets no target.
    pub(crate) fn holds(&self) -> bool {
        self.ratio.median >= self.least
    }

    /// The target is met, is missed, or has not been measured.
    pub(crate) fn verdict(&self) -> &'static str {
        if self.ratio.median.is_nan() {
            return "not measured";
        }
        if self.holds() { "PASS" } else { "missed" }
    }
}

/// All goals about what was measured; `hooks` are the microseconds that a hundred hooks of a plugin add, by rounds.
pub(crate) fn judged(results: &Results, tensors: &Tensors, hooks: &[f64]) -> Vec<Verdict> {
    let added = Quartiles::of(hooks).median;
    let ratios: Vec<_> = hooks.iter().map(|added| many_hooks::MOST / added).collect();
    let of_hooks = Verdict {
        name: format!(
            "{} µs / what 100 plugin hooks add to an iteration ({added:.2} µs)",
            many_hooks::MOST
        ),
        ratio: Quartiles::of(&ratios),
        least: 1.0,
    };
    let of_runs = GOALS.iter().filter_map(|goal| goal.judged(results));
    let of_tensors = tensors.lines.iter().map(|line| Verdict {
        name: format!("{}, 25.6 million parameters / {}", line.name, line.other),
        ratio: line.ratio,
        least: line.least,
    });
    of_runs.chain(of_tensors).chain([of_hooks]).collect()
}

impl Goal {
    /// `None` if the model was not asked for; NaN if the peer is missing.
    fn judged(&self, results: &Results) -> Option<Verdict> {
        let &Self(model, over, figure, least) = self;
        let trained = results.of(model)?;
        let (framework, who) = match over {
            Over::One(framework) => (Some(framework), framework.name().to_owned()),
            Over::Best => match trained.best_peer() {
                Some(best) => (Some(best), format!("the fastest peer ({})", best.name())),
                None => (None, "the fastest peer".to_owned()),
            },
        };
        let name = match figure {
            Figure::Speed => format!("{model}, steps per second / {who}"),
            Figure::FirstStep => format!("{model}, start to first step: of {who} / ours"),
            Figure::Peak => format!("{model}, peak memory: of {who} / ours"),
        };
        let ratio = framework.and_then(|framework| trained.advantage(framework, figure));
        Some(Verdict { name, ratio: ratio.unwrap_or_else(|| Quartiles::of(&[])), least })
    }
}

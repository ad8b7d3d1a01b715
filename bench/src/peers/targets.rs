//! What is promised about hookrack beside its peers.

use super::results::{Figure, Quartiles, Results};
use super::subject::Subject;
use super::tensors::Tensors;
use crate::many_hooks;

/// Whom a promise is about.
#[derive(Clone, Copy)]
enum Over {
    One(Subject),
    /// The fastest one, whoever it is.
    Best,
}

/// A promise: the model, whom it is compared with, in what, and how many times as good it must be.
struct Promise(&'static str, Over, Figure, f64);

const PROMISES: [Promise; 16] = [
    Promise("mlp", Over::One(Subject::Tch), Figure::Speed, 1.1),
    Promise("cnn", Over::One(Subject::Tch), Figure::Speed, 1.15),
    Promise("resnet18", Over::One(Subject::Tch), Figure::Speed, 1.2),
    Promise("gpt", Over::One(Subject::Tch), Figure::Speed, 1.05),
    Promise("mlp", Over::One(Subject::Jax), Figure::Speed, 1.2),
    Promise("mlp", Over::One(Subject::Ignite), Figure::Speed, 3.0),
    Promise("mlp", Over::One(Subject::Transformers), Figure::Speed, 5.0),
    Promise("mlp", Over::One(Subject::Lightning), Figure::Speed, 6.0),
    Promise("mlp", Over::One(Subject::MmEngine), Figure::Speed, 8.0),
    Promise("mlp_ema", Over::One(Subject::Jax), Figure::Speed, 1.2),
    Promise("cnn", Over::Best, Figure::Speed, 1.15),
    Promise("resnet18", Over::Best, Figure::Speed, 1.1),
    Promise("gpt", Over::Best, Figure::Speed, 1.05),
    Promise("mlp", Over::One(Subject::Torch), Figure::FirstStep, 4.0),
    Promise("mlp", Over::One(Subject::Lightning), Figure::FirstStep, 12.0),
    Promise("mlp", Over::One(Subject::Torch), Figure::Peak, 3.0),
];

/// A promise and what was found.
pub(crate) struct Judged {
    pub(crate) name: String,
    pub(crate) ratio: Quartiles,
    pub(crate) least: f64,
}

impl Judged {
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

/// All promises about what was measured; `hooks` are the microseconds that a hundred hooks of a plugin add, by rounds.
pub(crate) fn judged(results: &Results, tensors: &Tensors, hooks: &[f64]) -> Vec<Judged> {
    let added = Quartiles::of(hooks).median;
    let ratios: Vec<_> = hooks.iter().map(|added| many_hooks::MOST / added).collect();
    let of_hooks = Judged {
        name: format!(
            "{} µs / what 100 plugin hooks add to an iteration ({added:.2} µs)",
            many_hooks::MOST
        ),
        ratio: Quartiles::of(&ratios),
        least: 1.0,
    };
    let of_runs = PROMISES.iter().filter_map(|promise| promise.judged(results));
    let of_tensors = tensors.lines.iter().map(|line| Judged {
        name: format!("{}, 25.6 million parameters / {}", line.name, line.other),
        ratio: line.ratio,
        least: line.least,
    });
    of_runs.chain(of_tensors).chain([of_hooks]).collect()
}

impl Promise {
    /// `None` if the model was not asked for; NaN if the peer is missing.
    fn judged(&self, results: &Results) -> Option<Judged> {
        let &Self(model, over, figure, least) = self;
        let trained = results.of(model)?;
        let (subject, who) = match over {
            Over::One(subject) => (Some(subject), subject.name().to_owned()),
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
        let ratio = subject.and_then(|subject| trained.advantage(subject, figure));
        Some(Judged { name, ratio: ratio.unwrap_or_else(|| Quartiles::of(&[])), least })
    }
}

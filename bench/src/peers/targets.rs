//! What is promised about hookrack beside its peers.

use super::results::{Figure, Quartiles, Results};
use super::subject::Subject;
use super::tensors::Tensors;

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
    pub(crate) fn holds(&self) -> bool {
        self.ratio.median >= self.least
    }
}

/// All promises about what was measured.
pub(crate) fn judged(results: &Results, tensors: &Tensors) -> Vec<Judged> {
    let of_runs = PROMISES.iter().filter_map(|promise| promise.judged(results));
    let of_tensors = tensors.lines.iter().map(|line| Judged {
        name: format!("{}, 25.6 million parameters / {}", line.name, line.other),
        ratio: line.ratio,
        least: line.least,
    });
    of_runs.chain(of_tensors).collect()
}

impl Promise {
    /// `None` if the model or the peer was not measured.
    fn judged(&self, results: &Results) -> Option<Judged> {
        let &Self(model, over, figure, least) = self;
        let trained = results.of(model)?;
        let subject = match over {
            Over::One(subject) => subject,
            Over::Best => trained.best_peer()?,
        };
        let who = match over {
            Over::One(_) => subject.name().to_owned(),
            Over::Best => format!("the fastest peer ({})", subject.name()),
        };
        let name = match figure {
            Figure::Speed => format!("{model}, steps a second / {who}"),
            Figure::FirstStep => format!("{model}, start to first step: of {who} / ours"),
            Figure::Peak => format!("{model}, peak memory: of {who} / ours"),
        };
        Some(Judged { name, ratio: trained.advantage(subject, figure)?, least })
    }
}

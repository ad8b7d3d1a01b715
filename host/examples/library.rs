//! hookrack as a library: a model of your own, the engine's optimizer, schedule and data, and a loop of your own.
//!
//!     cargo run -p hookrack --example library

use hookrack::engine::data::{DATASETS, Loader, LoaderSettings};
use hookrack::engine::lr::Horizon;
use hookrack::engine::model::{Model, ModelContext, ModelInfo};
use hookrack::engine::registry::Build as _;
use hookrack::engine::{Choice, Engine, EngineError, Mode, NamedTensor};
use std::sync::Arc;
use tch::{Kind, Tensor};

/// Each class has a few prototypes; the nearest one decides.
struct Prototypes {
    info: ModelInfo,
}

const PER_CLASS: i64 = 8;
const SHARPNESS: f64 = 4.0;

impl Prototypes {
    fn new(context: &ModelContext) -> Result<Self, EngineError> {
        let inputs = context.data.input.iter().product();
        let classes = context.data.outputs().unwrap_or(1);
        let drawn = Tensor::f_rand([classes * PER_CLASS, inputs], (Kind::Float, context.device))?;
        let params = vec![NamedTensor::new("prototypes", drawn.f_set_requires_grad(true)?)];
        let (input_shape, output_shape) = (vec![inputs], vec![classes]);
        Ok(Self { info: ModelInfo { params, input_shape, output_shape, ..ModelInfo::default() } })
    }
}

impl Model for Prototypes {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor, EngineError> {
        let rows = input.f_flatten(1, -1)?;
        let far = Tensor::f_cdist(&rows, &self.info.params[0].tensor, 2.0, None::<i64>)?;
        let by_class = far.f_reshape([-1, self.info.output_shape[0], PER_CLASS])?;
        Ok(by_class.f_mul_scalar(-SHARPNESS)?.f_logsumexp([-1].as_slice(), false)?)
    }

    fn info(&self) -> &ModelInfo {
        &self.info
    }
}

fn digits(split: &str, batch_size: usize) -> Result<Loader, EngineError> {
    let choice = Choice::new("Digits", &[("split", split.into())]);
    let dataset = Arc::from(choice.build(DATASETS, &())?);
    let settings =
        LoaderSettings { shuffle: split == "train", seed: 1, ..LoaderSettings::new(batch_size) };
    Loader::new(dataset, &settings)
}

/// The fraction of samples that the engine classifies correctly.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer samples than 2^53")]
fn accuracy(engine: &Engine, data: &mut Loader) -> Result<f64, EngineError> {
    let (mut hits, mut samples) = (0, 0);
    data.begin(0, 0);
    while let Some(batch) = data.next_batch()? {
        let found = engine.forward(&batch.input, Mode::Eval)?.f_argmax(1, false)?;
        hits += found.f_eq_tensor(&batch.label)?.f_sum(Kind::Int64)?.f_int64_value(&[])?;
        samples += batch.rows();
    }
    Ok(hits as f64 / samples as f64)
}

/// Trains the prototypes on handwritten digits and returns the accuracy on the validation set.
pub fn train(epochs: u64) -> Result<f64, EngineError> {
    let (mut data, mut held_out) = (digits("train", 64)?, digits("val", 128)?);
    let mut engine = Engine::builder()
        .own_model(Prototypes::new)
        .loss(Choice::new("CrossEntropy", &[("label_smoothing", 0.05.into())]))
        .optimizer(Choice::new("AdamW", &[("lr", 0.1.into())]))
        .lr_scheduler(Choice::new("OneCycleLR", &[]))
        .horizon(Horizon { epochs, iters: epochs * data.batches() })
        .seed(1)
        .build(data.spec())?;
    for epoch in 0..epochs {
        data.begin(epoch, 0);
        while let Some(batch) = data.next_batch()? {
            let _loss = engine.train_batch(&batch)?;
        }
    }
    accuracy(&engine, &mut held_out)
}

#[expect(clippy::print_stdout, reason = "what the example has to say")]
fn main() -> Result<(), EngineError> {
    println!("{:.2} % of the digits held out are right", 100.0 * train(15)?);
    Ok(())
}

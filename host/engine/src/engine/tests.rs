//! An engine trains real data, resumes exactly and splits batches without changing the result.

mod doubles;

use std::sync::Arc;

use hookrack_plugin_api::Value;
use tch::Kind;

use super::*;
use crate::LossScalerSettings;
use crate::clip::ClipLimits;
use crate::data::{Batch, DATASETS, Dataset, Loader, LoaderSettings};
use crate::lr::Horizon;
use crate::model::Mode;
use crate::name_pattern::NamePattern;
use crate::schedule::MicroBatch;
use crate::tensor_shard::InMemory;
use hookrack_torch::autograd;
use hookrack_torch::rounding;
use hookrack_torch::{foreach, rng, threads};

fn digits(split: &str, batch_size: usize, shuffle: bool) -> Loader {
    let choice = Choice::new("Digits", &[("split", split.into())]);
    let dataset: Arc<dyn Dataset> = choice.build(DATASETS, &()).unwrap().into();
    let settings = LoaderSettings { shuffle, seed: 1, ..LoaderSettings::new(batch_size) };
    Loader::new(dataset, &settings).unwrap()
}

fn mlp(model: &[(&str, Value)], accumulation: usize, iters: u64) -> EngineBuilder {
    Engine::builder()
        .model(Choice::new("MLP", model))
        .loss(Choice::new("CrossEntropy", &[]))
        .optimizer(Choice::new("AdamW", &[("lr", 0.005.into())]))
        .lr_scheduler(Choice::new("CosineAnnealingWarmupLR", &[("warmup_steps", 20_i64.into())]))
        .accumulation(accumulation)
        .clip(ClipLimits { norm: 5.0, ..ClipLimits::default() })
        .seed(1)
        .horizon(Horizon { iters, epochs: 1 })
}

fn engine(builder: EngineBuilder) -> Engine {
    // Small steps on a busy machine: threads that wait for each other cost more than they bring.
    threads::set_within_op(1).unwrap();
    builder.build(&digits("train", 1, false).dataset().spec()).unwrap()
}

fn in_doubles(builder: EngineBuilder) -> Engine {
    engine(builder.precision(Precision::Fp64))
}

fn train_step(engine: &mut Engine, batch: &Batch) -> f64 {
    engine.train_batch(batch).unwrap().double_value(&[])
}

fn accuracy(engine: &Engine, loader: &mut Loader) -> f64 {
    loader.begin(0, 0);
    let (mut right, mut all) = (0.0, 0.0);
    while let Some(batch) = loader.next_batch().unwrap() {
        let output = engine.forward(&batch.input, Mode::Eval).unwrap();
        assert!(!output.requires_grad());
        let hits = output.argmax(1, false).eq_tensor(&batch.label).sum(Kind::Double);
        right += hits.double_value(&[]);
        all += f64::from(i32::try_from(batch.rows()).unwrap());
    }
    right / all
}

#[test]
fn an_mlp_learns_handwritten_digits() {
    let mut train = digits("train", 64, true);
    let mut val = digits("val", 128, false);
    let mut engine = engine(mlp(&[], 1, 20 * train.batches()));
    for epoch in 0..20 {
        train.begin(epoch, 0);
        while let Some(batch) = train.next_batch().unwrap() {
            train_step(&mut engine, &batch);
        }
    }
    let found = accuracy(&engine, &mut val);
    assert!(found > 0.95, "val accuracy {found}");
    assert!(engine.lr() < 1e-9, "the cosine has ended");
}

#[test]
fn a_restored_engine_continues_bit_for_bit() {
    for precision in [Precision::Fp64, Precision::Fp32, Precision::Fp16] {
        // Overflows at first, and grows soon: the scale changes on both sides of the checkpoint.
        let loss_scaler = LossScalerSettings {
            scale: 2_f64.powi(22),
            interval: 3,
            ..LossScalerSettings::default()
        };
        continues_bit_for_bit(|| {
            mlp(&[("dropout", 0.3.into())], 2, 40).precision(precision).loss_scaler(loss_scaler)
        });
    }
}

fn continues_bit_for_bit(builder: impl Fn() -> EngineBuilder) {
    let run = |engine: &mut Engine, from: u64, to: u64| -> Vec<u64> {
        let mut loader = digits("train", 64, true);
        loader.begin(0, from);
        (from..to)
            .map(|_| train_step(engine, &loader.next_batch().unwrap().unwrap()).to_bits())
            .collect()
    };
    let mut whole = engine(builder());
    run(&mut whole, 0, 8);
    let copy = |name: String, tensor: Tensor| NamedTensor::new(name, tensor.detach().copy());
    let model: Vec<_> =
        whole.model_state().into_iter().map(|it| copy(it.name, it.tensor)).collect();
    let optimizer: Vec<_> =
        whole.optimizer_state().into_iter().map(|it| copy(it.name, it.tensor)).collect();
    let (position, random) = (whole.lr_position(), rng::state(Device::Cpu).unwrap());
    let rest = run(&mut whole, 8, 20);

    let mut resumed = engine(builder());
    resumed.load_model_state(&InMemory::new(&model)).unwrap();
    resumed.load_optimizer_state(&InMemory::new(&optimizer)).unwrap();
    resumed.set_lr_position(position);
    rng::set_state(&random, Device::Cpu).unwrap();
    assert_eq!(run(&mut resumed, 8, 20), rest);
    for (left, right) in whole.params().iter().zip(resumed.params()) {
        assert_eq!(left.tensor, right.tensor, "{}", left.name);
    }
}

#[test]
fn graph_mode_equals_eager_also_in_16_and_64_bits() {
    let losses = |precision, graph| -> Vec<f64> {
        let builder = mlp(&[("dropout", 0.3.into())], 2, 40).precision(precision).graph(graph);
        let mut engine = engine(builder);
        let mut loader = digits("train", 64, true);
        let batches = (0..6).map(|_| loader.next_batch().unwrap().unwrap());
        batches.map(|batch| train_step(&mut engine, &batch)).collect()
    };
    let compare = |precision, tolerance: f64| {
        let eager = losses(precision, false);
        for (step, (graph, eager)) in losses(precision, true).iter().zip(eager).enumerate() {
            let told = format!("{precision:?}, step {step}: {graph}, not {eager}");
            assert!((graph - eager).abs() <= tolerance * eager, "{told}");
        }
    };
    compare(Precision::Fp64, rounding::DOUBLES);
    // A product and a quotient in each of six steps are rounded once more or less, to 8 bits.
    compare(Precision::Bf16, 6.0 * 2.0 * 2.0_f64.powi(-9));
}

#[test]
fn micro_batches_add_up_to_the_whole_batch() {
    let batch = digits("train", 50, true).next_batch().unwrap().unwrap();
    let gradient_norm = |accumulation| {
        let mut engine = in_doubles(mlp(&[], accumulation, 10).clip(ClipLimits::default()));
        train_step(&mut engine, &batch);
        assert!(engine.clip().unwrap().is_none());
        let norm = engine.grad_norm().unwrap().double_value(&[]);
        (norm, foreach::norm(engine.param_list(), 2.0).unwrap().double_value(&[]))
    };
    let (whole, parts) = (gradient_norm(1), gradient_norm(4));
    assert!((whole.0 - parts.0).abs() < rounding::DOUBLES * whole.0, "{whole:?} {parts:?}");
    assert!((whole.1 - parts.1).abs() < rounding::DOUBLES * whole.1, "{whole:?} {parts:?}");
}

#[test]
fn micro_batches_add_up_also_where_labels_are_ignored() {
    let batch = digits("train", 48, true).next_batch().unwrap().unwrap();
    // Most of the first quarter, all of the second, none of the others.
    _ = batch.label.narrow(0, 0, 10).fill_(-100);
    _ = batch.label.narrow(0, 12, 12).fill_(-100);
    let step = |accumulation| {
        let mut engine = in_doubles(mlp(&[], accumulation, 10).clip(ClipLimits::default()));
        let loss = train_step(&mut engine, &batch);
        (loss, engine.grad_norm().unwrap().double_value(&[]))
    };
    let (whole, parts) = (step(1), step(4));
    assert!((whole.0 - parts.0).abs() < rounding::DOUBLES * whole.0, "{whole:?} {parts:?}");
    assert!((whole.1 - parts.1).abs() < rounding::DOUBLES * whole.1, "{whole:?} {parts:?}");
}

#[test]
fn batches_side_by_side_are_cut_one_by_one_and_weigh_what_their_labels_weigh() {
    let batch = digits("train", 10, false).next_batch().unwrap().unwrap();
    let engine = engine(mlp(&[], 2, 10));
    let mut parts = Vec::new();
    let places = |parts: &[MicroBatch]| -> Vec<_> {
        parts.iter().map(|part| (part.start, part.rows)).collect()
    };
    _ = batch.label.narrow(0, 4, 3).fill_(-100);
    engine.split(&[4, 3, 3], &mut parts);
    let (own, _) = engine.weigh(&batch.label, 10, &mut parts).unwrap();
    assert_eq!(places(&parts), [(0, 2), (2, 2), (4, 2), (6, 1), (7, 2), (9, 1)]);
    let weights: Vec<f64> = parts.iter().map(|part| part.weight).collect();
    // The second batch has no label that counts.
    assert_eq!((weights, own), (vec![2.0, 2.0, 0.0, 0.0, 2.0, 1.0], 7.0));
    _ = batch.label.shallow_clone().fill_(-100);
    engine.split(&[10], &mut parts);
    let _ = engine.weigh(&batch.label, 10, &mut parts).unwrap();
    assert!(parts.iter().all(|part| part.weight == 0.0), "{parts:?}: nothing counts");
}

#[test]
fn gradients_are_recorded_for_training_even_inside_a_no_grad_caller() {
    let _off = GradMode::set(false);
    let batch = digits("train", 8, true).next_batch().unwrap().unwrap();
    let mut engine = engine(mlp(&[], 1, 10));
    train_step(&mut engine, &batch);
    assert!(autograd::grad(&engine.params()[0].tensor).unwrap().is_some());
}

#[test]
fn a_wrong_part_is_refused_before_training() {
    let data = digits("train", 1, false).dataset().spec();
    let text = |builder: EngineBuilder| builder.build(&data).unwrap_err().to_string();
    let model = Choice::new("MPL", &[]);
    assert_eq!(text(mlp(&[], 1, 1).model(model)), "no model is named `MPL`: did you mean `MLP`?");
    let loss = Choice::new("MSE", &[]);
    assert_eq!(
        text(mlp(&[], 1, 1).loss(loss)),
        "loss `MSE`: the labels of this data set are classes: use CrossEntropy"
    );
    assert_eq!(text(Engine::builder()), "an engine needs a model: pass one to the builder");
    assert!(text(mlp(&[("hiden", vec![3_i64].into())], 1, 1)).contains("unknown field `hiden`"));
}

fn one_step(engine: &mut Engine) {
    let mut loader = digits("train", 16, false);
    loader.begin(0, 0);
    train_step(engine, &loader.next_batch().unwrap().unwrap());
    engine.zero_grad().unwrap();
}

fn copies(engine: &Engine) -> Vec<Tensor> {
    engine.params().iter().map(|param| param.tensor.detach().copy()).collect()
}

fn changed(engine: &Engine, before: &[Tensor]) -> Vec<bool> {
    engine.params().iter().zip(before).map(|(param, before)| param.tensor != *before).collect()
}

fn half_frozen() -> EngineBuilder {
    let freeze = vec![NamePattern::parse("layers.0.*").unwrap()];
    mlp(&[("hidden", vec![8_i64].into())], 1, 10).freeze(freeze)
}

#[test]
fn frozen_parameters_stay_have_no_state_and_can_be_thawed() {
    let mut engine = engine(half_frozen());
    assert_eq!(engine.frozen(), ["layers.0.weight", "layers.0.bias"]);
    let before = copies(&engine);
    one_step(&mut engine);
    assert_eq!(changed(&engine, &before), [false, false, true, true]);
    assert!(engine.optimizer().state().iter().all(|named| !named.name.starts_with("layers.0.")));
    assert_eq!(engine.set_trainable("layers.0.*", true).unwrap(), 2);
    one_step(&mut engine);
    assert_eq!(changed(&engine, &before), [true; 4]);
    let (before, error) = (copies(&engine), engine.set_trainable("*", false).unwrap_err());
    assert!(
        error.to_string().starts_with("`*` would freeze the last trainable parameters"),
        "{error}"
    );
    engine.set_trainable("*.bias", false).unwrap();
    one_step(&mut engine);
    assert_eq!(changed(&engine, &before), [true, false, true, false]);
}

#[test]
fn what_was_thawed_in_a_run_is_thawed_when_it_resumes() {
    let mut first = engine(half_frozen());
    first.set_trainable("layers.0.bias", true).unwrap();
    one_step(&mut first);
    let mut second = engine(half_frozen());
    second.load_model_state(&InMemory::new(&first.model_state())).unwrap();
    second.recall(&first.state()).unwrap();
    let saved = first.optimizer().state();
    second.optimizer_mut().load_state(&InMemory::pieces(&saved)).unwrap();
    second.set_lr_position(first.lr_position());
    assert_eq!(second.frozen(), ["layers.0.weight"]);
    one_step(&mut first);
    one_step(&mut second);
    for (first, second) in first.params().iter().zip(second.params()) {
        assert_eq!(first.tensor, second.tensor, "{}", first.name);
    }
}

#[test]
fn weights_from_elsewhere_are_taken_where_they_fit() {
    let mut engine = engine(mlp(&[("hidden", vec![4_i64].into())], 1, 10));
    let source = || {
        vec![
            NamedTensor::new("layers.0.bias", Tensor::from_slice(&[1.0_f64, 2.0, 3.0, 4.0])),
            NamedTensor::new("layers.1.bias", Tensor::from_slice(&[1.0_f32])),
            NamedTensor::new("head", Tensor::from_slice(&[1.0_f32])),
        ]
    };
    let before = copies(&engine);
    let strict = engine.load_weights(source(), &[], true).unwrap();
    assert_eq!((strict.loaded, changed(&engine, &before)), (0, vec![false; 4]));
    let report = engine.load_weights(source(), &[], false).unwrap();
    assert_eq!(changed(&engine, &before), [false, true, false, false]);
    assert_eq!(
        report.to_string(),
        "1 loaded, 2 missing (layers.0.weight, layers.1.weight), 1 unexpected (head), \
         1 of another shape (layers.1.bias: expects [10], found [1])"
    );
    assert_eq!(engine.params()[1].tensor.kind(), Kind::Float);
}

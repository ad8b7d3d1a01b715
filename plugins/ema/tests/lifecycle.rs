//! The averaging hooks through a run: they average, lend, take back, save and export.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions too")]

use ema::epoch_hook::EmaEpoch;
use ema::iter_hook::EmaIter;
use hookrack_fake_host::{Data, FakeHost, Live};
use hookrack_plugin_api::abi::HookBase;
use hookrack_plugin_api::{Outcome, Point, Value, hook_table};

static BY_ITER: HookBase = hook_table!(EmaIter as "EMAIterHook");
static BY_EPOCH: HookBase = hook_table!(EmaEpoch as "EMAEpochHook");

fn settings(fields: &[(&str, Value)]) -> Value {
    Value::Table(fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}

/// A momentum of one half, at once: averages are then easy to tell by heart.
fn halving() -> Value {
    settings(&[("momentum", 0.5.into()), ("warmup", false.into())])
}

fn host_with_weight(weight: f32) -> FakeHost {
    let host = FakeHost::new("ema");
    host.param("w", Data::floats(&[weight]), None);
    host.buffer("seen", Data::ints(&[7]));
    host
}

/// Runs training iterations, after each of which the weight is the given one.
fn train(host: &FakeHost, hook: &Live<HookBase>, weights: &[f32]) {
    for (iter, weight) in (1..).zip(weights) {
        host.at(1, iter);
        host.set_param(0, Data::floats(&[*weight]));
        hook.at(Point::AfterTrainIter).unwrap();
    }
}

fn weight(host: &FakeHost) -> Data {
    host.param_at(0)
}

fn averaged(first: f32) -> (FakeHost, Live<HookBase>) {
    let host = host_with_weight(first);
    let hook = host.hook(&BY_ITER, &halving()).unwrap();
    hook.at(Point::OnAttach).unwrap();
    train(&host, &hook, &[0.0, 8.0, 16.0]);
    (host, hook)
}

#[test]
fn an_evaluation_sees_the_average_and_training_its_own_weights() {
    let (host, hook) = averaged(100.0);
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[10.0])); // 0, then 4, then 10
    hook.at(Point::AfterEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[16.0]));
    train(&host, &hook, &[30.0]);
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[20.0]));
}

#[test]
fn momentum_is_the_part_of_the_average_that_stays() {
    let host = host_with_weight(0.0);
    let slow = settings(&[("momentum", 0.75.into()), ("warmup", false.into())]);
    let hook = host.hook(&BY_ITER, &slow).unwrap();
    train(&host, &hook, &[0.0, 8.0]);
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[2.0]));
}

#[test]
fn an_evaluation_cut_short_leaves_no_average_behind() {
    for next in
        [Point::OnException, Point::BeforeSaveCheckpoint, Point::AfterTrain, Point::OnDetach]
    {
        let (host, hook) = averaged(0.0);
        hook.at(Point::BeforeEval).unwrap();
        hook.at(next).unwrap();
        assert_eq!(weight(&host), Data::floats(&[16.0]), "{next}");
        hook.at(Point::AfterEval).unwrap();
        assert_eq!(weight(&host), Data::floats(&[16.0]), "{next}, then after_eval");
    }
}

#[test]
fn an_evaluation_before_the_first_update_sees_the_models_own_weights() {
    let host = host_with_weight(3.0);
    let hook = host.hook(&BY_ITER, &halving()).unwrap();
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[3.0]));
    hook.at(Point::AfterEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[3.0]));
}

#[test]
fn without_evaluate_the_model_is_left_alone() {
    let host = host_with_weight(0.0);
    let hook = host.hook(&BY_ITER, &settings(&[("evaluate", false.into())])).unwrap();
    hook.at(Point::OnAttach).unwrap();
    assert_eq!(host.state("evaluation_weights"), None);
    train(&host, &hook, &[1.0, 2.0]);
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[2.0]));
}

#[test]
fn a_second_hook_that_evaluates_with_its_weights_is_refused_by_name() {
    let host = host_with_weight(0.0);
    host.put_state("evaluation_weights", "swa");
    let hook = host.hook(&BY_ITER, &halving()).unwrap();
    let error = hook.at(Point::OnAttach).unwrap_err();
    assert_eq!(
        error,
        "`swa` evaluates with its weights already: set `evaluate = false` for one of the two"
    );
}

#[test]
fn a_resumed_average_goes_on_where_it_was() {
    let (_, hook) = averaged(0.0);
    let saved = hook.save().unwrap();
    assert_eq!(saved.tensors["average.w"], Data::floats(&[10.0]));

    let host = host_with_weight(16.0);
    let hook = host.hook(&BY_ITER, &halving()).unwrap();
    hook.at(Point::OnAttach).unwrap();
    hook.load(&saved).unwrap();
    hook.at(Point::AfterLoadCheckpoint).unwrap();
    assert_eq!(hook.save().unwrap(), saved);
    train(&host, &hook, &[30.0]);
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[20.0]));
}

#[test]
fn an_average_of_another_model_is_refused() {
    let (_, hook) = averaged(0.0);
    let saved = hook.save().unwrap();
    let host = FakeHost::new("ema");
    host.param("other", Data::floats(&[0.0]), None);
    let hook = host.hook(&BY_ITER, &halving()).unwrap();
    hook.load(&saved).unwrap();
    let error = hook.at(Point::AfterLoadCheckpoint).unwrap_err();
    assert_eq!(error, "the checkpoint's average has `w`, which is no parameter of this model");
}

#[test]
fn nothing_is_saved_while_the_average_is_lent() {
    let (_, hook) = averaged(0.0);
    hook.at(Point::BeforeEval).unwrap();
    assert!(hook.save().unwrap_err().contains("lent"));
    hook.at(Point::BeforeSaveCheckpoint).unwrap();
    assert_eq!(hook.save().unwrap().tensors["average.w"], Data::floats(&[10.0]));
}

#[test]
fn the_averaged_model_is_exported_when_training_ends() {
    let (host, hook) = averaged(0.0);
    host.ended(Outcome::Completed);
    hook.at(Point::AfterTrain).unwrap();
    let expected =
        vec![("w".to_owned(), Data::floats(&[10.0])), ("seen".to_owned(), Data::ints(&[7]))];
    assert_eq!(host.file("ema.safetensors"), Some(expected));
}

#[test]
fn a_failed_run_exports_nothing() {
    let (host, hook) = averaged(0.0);
    host.ended(Outcome::Failed);
    hook.at(Point::AfterTrain).unwrap();
    assert_eq!(host.file("ema.safetensors"), None);
}

#[test]
fn the_average_begins_at_its_iteration() {
    let host = host_with_weight(0.0);
    let late = settings(&[
        ("momentum", 0.5.into()),
        ("warmup", false.into()),
        ("begin_iter", Value::Int(3)),
    ]);
    let hook = host.hook(&BY_ITER, &late).unwrap();
    train(&host, &hook, &[100.0, 100.0, 4.0, 8.0]);
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[6.0]));
}

#[test]
fn the_epoch_hook_averages_once_per_epoch() {
    let host = host_with_weight(0.0);
    let hook = host.hook(&BY_EPOCH, &halving()).unwrap();
    hook.at(Point::OnAttach).unwrap();
    for (epoch, weight) in [(1, 2.0), (2, 6.0)] {
        host.at(epoch, epoch * 10);
        hook.at(Point::AfterTrainIter).unwrap();
        host.set_param(0, Data::floats(&[weight]));
        hook.at(Point::AfterTrainEpoch).unwrap();
    }
    hook.at(Point::BeforeEval).unwrap();
    assert_eq!(weight(&host), Data::floats(&[4.0]));
}

#[test]
fn every_tensor_is_given_back_at_the_end() {
    let host = host_with_weight(0.0);
    let before = host.tensors_alive();
    let hook = host.hook(&BY_ITER, &halving()).unwrap();
    train(&host, &hook, &[1.0, 2.0]);
    hook.at(Point::BeforeEval).unwrap();
    hook.at(Point::AfterEval).unwrap();
    hook.at(Point::AfterTrain).unwrap();
    drop(hook);
    assert_eq!(host.tensors_alive(), before);
}

#[test]
fn a_misspelt_setting_is_refused() {
    let host = host_with_weight(0.0);
    let made = host.hook(&BY_ITER, &settings(&[("momentun", 0.5.into())]));
    assert!(made.err().unwrap().contains("unknown field `momentun`"));
}

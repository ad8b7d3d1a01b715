//! A small catalogue with the names and parameters of the real one.

use std::path::PathBuf;

use hookrack_plugin_api::every::Every;
use hookrack_plugin_api::{OnError, OnRanks, Param, ParamType, Presence, Value};

use crate::config::{
    Catalog, CatalogEntry, Companion, DefaultHook, HookFacts, Kind, MetricHook, Source,
};

pub(super) fn entry(name: &str, params: Vec<Param>) -> CatalogEntry {
    CatalogEntry::new(name, &format!("The {name}."), params)
}

pub(in crate::config) fn param(name: &str, ty: ParamType, presence: Presence) -> Param {
    let (doc, aliases) = (format!("the {name}"), Vec::new());
    Param { name: name.into(), aliases, doc, ty, presence, min: None, max: None }
}

fn float(name: &str, value: f64, min: f64) -> Param {
    let presence = Presence::Default(Value::Float(value));
    Param { min: Some(min), ..param(name, ParamType::Float, presence) }
}

fn int(name: &str, value: i64) -> Param {
    let presence = Presence::Default(Value::Int(value));
    Param { min: Some(1.0), ..param(name, ParamType::Int, presence) }
}

fn hook(name: &str, level: i64, on_error: OnError, params: Vec<Param>) -> CatalogEntry {
    let facts = HookFacts {
        default_level: level,
        default_on_error: on_error,
        default_every: Every::Always,
        default_ranks: OnRanks::All,
    };
    CatalogEntry { hook: Some(facts), ..entry(name, params) }
}

fn mlp() -> CatalogEntry {
    let hidden = Presence::Default(Value::List(vec![Value::Int(64)]));
    let hidden = param("hidden", ParamType::List(Box::new(ParamType::Int)), hidden);
    let choices = ParamType::OneOf(vec!["relu".into(), "gelu".into(), "tanh".into()]);
    let activation = param("activation", choices, Presence::Default(Value::Str("relu".into())));
    entry("MLP", vec![Param { min: Some(1.0), ..hidden }, activation])
}

fn sequential() -> CatalogEntry {
    entry("Sequential", vec![param("layers", ParamType::Any, Presence::Required)])
}

fn idx_images() -> CatalogEntry {
    let normalise = ParamType::Table(vec![float("mean", 0.0, -1e9), float("std", 1.0, 0.0)]);
    entry(
        "IdxImages",
        vec![
            param("images", ParamType::Path, Presence::Required),
            param("labels", ParamType::Path, Presence::Optional),
            param("normalise", normalise, Presence::Default(Value::Table(Vec::new()))),
            param("extra", ParamType::Any, Presence::Optional),
        ],
    )
}

fn components() -> Vec<(Kind, CatalogEntry)> {
    let split = ParamType::OneOf(vec!["train".into(), "val".into()]);
    let split = param("split", split, Presence::Default(Value::Str("train".into())));
    vec![
        (Kind::Model, mlp()),
        (Kind::Model, sequential()),
        (Kind::Layer, entry("linear", vec![param("out", ParamType::Int, Presence::Optional)])),
        (Kind::Loss, entry("CrossEntropy", vec![float("label_smoothing", 0.0, 0.0)])),
        (Kind::Loss, entry("MSE", vec![])),
        (Kind::Optimizer, entry("SGD", vec![float("lr", 0.1, 0.0), float("momentum", 0.0, 0.0)])),
        (
            Kind::Optimizer,
            entry("AdamW", vec![float("lr", 1e-3, 0.0), float("weight_decay", 1e-2, 0.0)]),
        ),
        (Kind::LrScheduler, entry("CosineAnnealingWarmupLR", vec![int("warmup_steps", 1)])),
        (Kind::LrScheduler, entry("ConstantLR", vec![])),
        (Kind::Dataset, entry("Digits", vec![split])),
        (Kind::Dataset, entry("Synthetic", vec![int("samples", 1024)])),
        (Kind::Dataset, idx_images()),
        (Kind::Transform, entry("RandomCrop", vec![int("padding", 0)])),
        (Kind::Schedule, entry("NoPipeline", vec![])),
        (Kind::Metric, entry("Accuracy", vec![])),
        (Kind::Metric, entry("Loss", vec![])),
        (Kind::Metric, entry("TopK", vec![int("k", 5)])),
    ]
}

fn hooks() -> Vec<CatalogEntry> {
    let roles = vec!["on_iter_forward".into(), "on_iter_backward".into()];
    let main = CatalogEntry { roles, ..hook("MainHook", 30, OnError::Abort, vec![]) };
    let evaluate = CatalogEntry {
        aliases: vec!["EvalHook".into()],
        ..hook(
            "EvaluateHook",
            40,
            OnError::Abort,
            vec![
                int("interval", 1),
                Param { aliases: vec!["eval_period".into()], ..int("eval_iter_period", 1) },
            ],
        )
    };
    let interval = Param { aliases: vec!["period".into()], ..int("interval", 50) };
    vec![
        main,
        hook("IterationTimerHook", 20, OnError::Disable, vec![]),
        hook("LossHook", 12, OnError::Disable, vec![]),
        hook("PeriodicLogger", 50, OnError::Disable, vec![interval]),
        hook("CheckPointHook", 60, OnError::Abort, vec![int("interval", 1)]),
        evaluate,
    ]
}

fn ema(library: PathBuf) -> CatalogEntry {
    let momentum = float("momentum", 0.9998, 0.0);
    CatalogEntry {
        source: Source::Library(library),
        ..hook("EMAIterHook", 30, OnError::Abort, vec![Param { max: Some(1.0), ..momentum }])
    }
}

/// The catalogue of a host that found `libraries`: each has an `EMAIterHook`.
pub(super) fn catalog(libraries: &[PathBuf]) -> Catalog {
    let mut catalog = Catalog::default();
    for (kind, entry) in components() {
        catalog.add(kind, entry).unwrap();
    }
    for entry in hooks().into_iter().chain(libraries.iter().cloned().map(ema)) {
        catalog.add(Kind::Hook, entry).unwrap();
    }
    let defaults = [
        ("main", "MainHook", 30),
        ("timer", "IterationTimerHook", 10),
        ("evaluate", "EvaluateHook", 40),
        ("logger", "PeriodicLogger", 50),
        ("checkpoint", "CheckPointHook", 60),
    ];
    for (name, key, metric) in
        [("AccuracyHook", "accuracy_func", Some("Accuracy")), ("MetricHook", "metric", None)]
    {
        let (name, key, metric) = (name.into(), key.into(), metric.map(str::to_owned));
        catalog.add_metric_hook(MetricHook { name, key, metric });
    }
    let (hook, metric) = ("LossHook".into(), "Loss".into());
    catalog.companions.push(Companion { hook, metric });
    for (key, type_name, level) in defaults {
        let (key, type_name) = (key.into(), type_name.into());
        catalog.default_hooks.push(DefaultHook { key, type_name, level });
    }
    catalog
}

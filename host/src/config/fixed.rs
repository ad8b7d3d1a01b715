//! The fixed part of a config file, described like everything else by parameters.
//!
//! A new key of `[train]` is one row here and one field in `resolved.rs`: check, documentation and
//! schema follow.

use hookrack_plugin_api::{Param, ParamType, Presence, Value};

use super::cadence::PHASE_NAMES;
use super::catalog::Kind;
use super::entries::OnError;

/// A section that names a component by `type =`.
pub(super) struct ComponentSection {
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    /// Taken when the section is absent; without one the section is required.
    pub(super) default_type: Option<&'static str>,
}

pub(super) const MODEL: ComponentSection =
    ComponentSection { key: "model", kind: Kind::Model, default_type: None };
pub(super) const LOSS: ComponentSection =
    ComponentSection { key: "loss", kind: Kind::Loss, default_type: None };
pub(super) const OPTIMIZER: ComponentSection =
    ComponentSection { key: "optimizer", kind: Kind::Optimizer, default_type: None };
pub(super) const LR_SCHEDULER: ComponentSection = ComponentSection {
    key: "lr_scheduler",
    kind: Kind::LrScheduler,
    default_type: Some("ConstantLR"),
};
pub(super) const SCHEDULE: ComponentSection =
    ComponentSection { key: "schedule", kind: Kind::Schedule, default_type: Some("NoPipeline") };

pub(super) const COMPONENTS: [&ComponentSection; 5] =
    [&MODEL, &LOSS, &OPTIMIZER, &LR_SCHEDULER, &SCHEDULE];

/// The keys of `[data]`.
pub(super) const SPLITS: [&str; 4] = ["train", "val", "test", "pred"];

/// Every key at the top of a file, in the order in which the resolved config has them.
pub(super) const TOP_LEVEL: [&str; 12] = [
    "run",
    "model",
    "data",
    "loss",
    "optimizer",
    "lr_scheduler",
    "schedule",
    "train",
    "plugins",
    "default_hooks",
    "metrics",
    "custom_hooks",
];

/// Keys with a meaning of their own in any file or table.
pub(super) const BASE: &str = "_base_";
pub(super) const DELETE: &str = "_delete_";

/// `[run]`
pub(super) fn run_params() -> Vec<Param> {
    vec![
        optional(
            "name",
            ParamType::Str,
            "name of the run and of its folder; default: the name of the config file",
        ),
        default(
            "dir",
            ParamType::Path,
            Value::Str("runs".into()),
            "folder that holds the run folders; unless set, `runs` in the current directory",
        ),
    ]
}

/// `[train]`
pub(super) fn train_params() -> Vec<Param> {
    vec![
        at_least(
            1.0,
            optional(
                "max_epochs",
                ParamType::Int,
                "stop after this many epochs; either this or max_iters",
            ),
        ),
        at_least(
            1.0,
            optional(
                "max_iters",
                ParamType::Int,
                "stop after this many iterations; either this or max_epochs",
            ),
        ),
        at_least(
            1.0,
            default(
                "batch_size",
                ParamType::Int,
                Value::Int(64),
                "samples in an iteration, unless a data section says otherwise",
            ),
        ),
        at_least(
            0.0,
            default(
                "seed",
                ParamType::Int,
                Value::Int(0),
                "every source of randomness is derived from it",
            ),
        ),
        default(
            "precision",
            one_of(&["fp32", "bf16", "fp16"]),
            Value::Str("fp32".into()),
            "arithmetic of the forward and backward pass",
        ),
        default(
            "mode",
            one_of(&["eager", "graph"]),
            Value::Str("eager".into()),
            "run the model operator by operator, or as a compiled graph",
        ),
        at_least(
            1.0,
            default(
                "accumulation",
                ParamType::Int,
                Value::Int(1),
                "iterations whose gradients are summed before an optimizer step",
            ),
        ),
        at_least(
            0.0,
            default(
                "clip_grad_norm",
                ParamType::Float,
                Value::Float(0.0),
                "largest gradient norm; 0 does not clip",
            ),
        ),
        at_least(
            1.0,
            optional("threads", ParamType::Int, "threads for arithmetic; default: one per core"),
        ),
        at_least(
            1.0,
            default(
                "log_every",
                ParamType::Int,
                Value::Int(50),
                "iterations between two lines of the log",
            ),
        ),
    ]
}

/// `[plugins]`
pub(super) fn plugins_params() -> Vec<Param> {
    let plugins = Value::List(vec![Value::Str("plugins".into())]);
    let doc = "folders with plugin libraries, looked for beside the config file, then in the current directory; unless set, `plugins` in the current directory if it exists";
    vec![default("dirs", ParamType::List(Box::new(ParamType::Str)), plugins, doc)]
}

/// What any data section has beside the data set's own parameters.
pub(super) fn data_params() -> Vec<Param> {
    vec![
        required("type", ParamType::Str, "the data set"),
        at_least(
            1.0,
            optional(
                "batch_size",
                ParamType::Int,
                "samples in an iteration; default: train.batch_size",
            ),
        ),
        optional(
            "shuffle",
            ParamType::Bool,
            "draw samples in a random order; default: true for train, false elsewhere",
        ),
        default(
            "drop_last",
            ParamType::Bool,
            Value::Bool(false),
            "leave out a last batch that is not full",
        ),
    ]
}

/// What any hook entry has beside the hook's own parameters.
pub(super) fn hook_params() -> Vec<Param> {
    let policies: Vec<_> = OnError::ALL.iter().map(|policy| policy.name()).collect();
    vec![
        required("type", ParamType::Str, "the hook"),
        optional(
            "library",
            ParamType::Str,
            "library that provides it: a file in plugins.dirs, or a path; default: whichever has the type",
        ),
        optional("name", ParamType::Str, "instance name; default: the type"),
        optional(
            "level",
            ParamType::Any,
            "order among the hooks of a point, lower first: HIGHEST 0, HIGHER 10, HIGH 20, NORMAL 30, LOW 40, LOWER 50, LOWEST 60, or any integer; default: the hook's own",
        ),
        optional(
            "on_error",
            one_of(&policies),
            "what an error in the hook does to the run; default: the hook's own",
        ),
        optional(
            "every",
            ParamType::Any,
            "run only so often: \"100it\" or \"2ep\"; default: always",
        ),
        optional(
            "phase",
            ParamType::Any,
            "run only in these phases: train, val, test, pred, or eval for val and test; default: all",
        ),
    ]
}

/// What any metric entry has beside the metric's own parameters.
pub(super) fn metric_params() -> Vec<Param> {
    vec![
        required("type", ParamType::Str, "the metric"),
        optional(
            "library",
            ParamType::Str,
            "library that provides it: a file in plugins.dirs, or a path; default: whichever has the type",
        ),
        optional("name", ParamType::Str, "name of the value; default: the type"),
        optional("phase", ParamType::Any, "phases it is computed in; default: val and test"),
    ]
}

/// What any other component has beside its own parameters.
pub(super) fn component_params(kind: Kind) -> Vec<Param> {
    vec![required("type", ParamType::Str, &format!("the {}", kind.noun()))]
}

/// The parameters that every entry of a kind has, whatever its type.
pub(super) fn reserved_params(kind: Kind) -> Vec<Param> {
    match kind {
        Kind::Dataset => data_params(),
        Kind::Hook => hook_params(),
        Kind::Metric => metric_params(),
        _ => component_params(kind),
    }
}

/// The keys that no entry of a kind may have as a parameter.
pub(super) fn reserved_keys(kind: Kind) -> Vec<String> {
    let own = reserved_params(kind).into_iter().map(|param| param.name);
    own.chain([BASE.to_owned(), DELETE.to_owned()]).collect()
}

/// `phase =` as a type, for the schema.
pub(super) fn phase_type() -> ParamType {
    one_of(&PHASE_NAMES)
}

fn one_of(names: &[&str]) -> ParamType {
    ParamType::OneOf(names.iter().map(|name| (*name).to_owned()).collect())
}

fn param(name: &str, ty: ParamType, presence: Presence, doc: &str) -> Param {
    Param { name: name.to_owned(), doc: doc.to_owned(), ty, presence, min: None, max: None }
}

fn required(name: &str, ty: ParamType, doc: &str) -> Param {
    param(name, ty, Presence::Required, doc)
}

fn optional(name: &str, ty: ParamType, doc: &str) -> Param {
    param(name, ty, Presence::Optional, doc)
}

fn default(name: &str, ty: ParamType, value: Value, doc: &str) -> Param {
    param(name, ty, Presence::Default(value), doc)
}

fn at_least(min: f64, param: Param) -> Param {
    Param { min: Some(min), ..param }
}

//! The fixed part of a config file, described like everything else by parameters.
//!
//! A new key of `[train]` is one row here and one field in `resolved.rs`: check, documentation and
//! schema follow.

use hookrack_plugin_api::{Describe as _, OnError, Param, ParamType, Presence, Value};

use super::cadence::PHASE_NAMES;
use super::catalog::Kind;
use crate::engine::LossScalerSettings;

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

/// The key of `[data]` that holds test sets by name.
pub(super) const TESTS: &str = "tests";

/// Every key at the top of a file, in the order in which the resolved config has them.
pub(super) const TOP_LEVEL: [&str; 13] = [
    "run",
    "model",
    "weights",
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

/// More threads than any machine has use for; a process cannot have many more, and libtorch ends it then.
const MOST_THREADS: u32 = 1024;

/// More batches than any epoch should wait for. Whether they fit into memory is seen when the data is.
const MOST_AHEAD: u32 = 65_536;

/// `[run]`
pub(super) fn run_params() -> Vec<Param> {
    let runs = Value::Str("runs".into());
    vec![
        text("name", "name of the run and of its folder; default: that of the config file"),
        default("dir", ParamType::Path, runs, "folder of the run folders; default: ./runs"),
    ]
}

/// `[train]`
pub(super) fn train_params() -> Vec<Param> {
    vec![
        count(
            "max_epochs",
            None,
            1,
            "epochs after which the run is complete, unless max_iters ends it first",
        ),
        count(
            "max_iters",
            None,
            1,
            "iterations after which the run is complete, unless max_epochs ends it first",
        ),
        count("batch_size", Some(64), 1, "samples in a batch"),
        count("seed", Some(0), 0, "every source of randomness is derived from it"),
        default(
            "device",
            ParamType::Str,
            Value::Str("cpu".into()),
            "where model and batches are: cpu, cuda or cuda:1",
        ),
        choice("precision", &["fp32", "bf16", "fp16"], "arithmetic of forward and backward pass"),
        choice("mode", &["eager", "graph"], "operator by operator, or as a compiled graph"),
        count(
            "accumulate_grad_batches",
            Some(1),
            1,
            "batches of the loader that make one iteration: one optimizer step for all of them",
        ),
        count("accumulation", Some(1), 1, "parts that each batch is cut into, one after the other"),
        number("clip_grad_norm", 0.0, 0.0, "largest gradient norm; 0 does not clip"),
        Param {
            max: Some(f64::INFINITY),
            ..number("clip_grad_norm_type", 2.0, 1.0, "which norm: 1, 2, any other number, or inf")
        },
        number("clip_grad_value", 0.0, 0.0, "largest number in a gradient; 0 does not clip"),
        path(
            "load_from",
            "weights to start from, the short form of [weights]: a safetensors file, checkpoint or run",
        ),
        patterns("freeze", "names of parameters that are not trained, such as \"layers.0.*\""),
        number("max_time", 0.0, 0.0, "seconds after which the run saves and ends; 0 for no limit"),
        up_to(
            MOST_THREADS,
            count("threads", None, 1, "threads for arithmetic; default: one per core"),
        ),
        loss_scaler(),
    ]
}

/// Nothing written means every value's default.
fn loss_scaler() -> Param {
    let table = ParamType::Table(LossScalerSettings::params());
    default("loss_scaler", table, Value::Table(Vec::new()), LossScalerSettings::DOC)
}

/// `[weights]`
pub(super) fn weights_params() -> Vec<Param> {
    let path = "a safetensors file, the index of one that is split, or a checkpoint or run directory of ours";
    let strict = "refuse weights that lack a tensor, have one more, or one of another shape";
    let rename = "from names in the file to names in the model; the first that matches wins";
    let transpose = "turn matrices, for libraries that keep them the other way round";
    let rename_params = vec![
        param("from", ParamType::Str, Presence::Required, "a name; * is any run of letters"),
        param("to", ParamType::Str, Presence::Required, "the new name, with as many *"),
        default("transpose", ParamType::Bool, Value::Bool(false), transpose),
    ];
    vec![
        param("path", ParamType::Path, Presence::Required, path),
        default("strict", ParamType::Bool, Value::Bool(true), strict),
        tables("rename", rename_params, rename),
        patterns("ignore", "names in the file that are left out, before renaming"),
    ]
}

/// What any optimizer section has beside the optimizer's own parameters.
fn optimizer_params() -> Vec<Param> {
    let switch = "leave parameters of at most one dimension without weight decay: biases, and the scales of norms";
    let groups =
        "parameters with a learning rate or weight decay of their own; the first that matches wins";
    let decay = "weight decay of these parameters; default: the optimizer's";
    let decay = param("weight_decay", ParamType::Float, Presence::Optional, decay);
    let group_params = vec![
        param("match", ParamType::Str, Presence::Required, "their names; * is any run of letters"),
        number("lr_scale", 1.0, 0.0, "their learning rate as a part of the optimizer's"),
        Param { min: Some(0.0), ..decay },
    ];
    vec![
        type_param(Kind::Optimizer),
        default("no_decay_on_norm_and_bias", ParamType::Bool, Value::Bool(false), switch),
        tables("groups", group_params, groups),
    ]
}

/// `[plugins]`
pub(super) fn plugins_params() -> Vec<Param> {
    let plugins = Value::List(vec![Value::Str("plugins".into())]);
    let doc = "folders with plugin libraries, beside the config file or in the current directory";
    let search = "folders that are searched after `dirs`; those that do not exist are passed over; default: those of \
                  HOOKRACK_PLUGINS, then `plugins` beside the program's own folder";
    let paths = ParamType::List(Box::new(ParamType::Path));
    vec![
        default("dirs", ParamType::List(Box::new(ParamType::Str)), plugins, doc),
        param("search", paths, Presence::Optional, search),
    ]
}

/// What any data section has beside the data set's own parameters.
pub(super) fn data_params() -> Vec<Param> {
    let shuffle = "draw samples in random order; default: true for train, false elsewhere";
    let drop_last = "leave out a last batch that is not full";
    let transforms = "what is done to each sample, in order: tables with a `type`";
    vec![
        type_param(Kind::Dataset),
        count("batch_size", None, 1, "samples in a batch; default: train.batch_size"),
        param("shuffle", ParamType::Bool, Presence::Optional, shuffle),
        default("drop_last", ParamType::Bool, Value::Bool(false), drop_last),
        count("skip", Some(0), 0, "samples that are passed over at the beginning of the data set"),
        count("first", None, 1, "samples that are taken of those left; default: all"),
        up_to(
            MOST_THREADS,
            count(
                "workers",
                Some(0),
                0,
                "threads that make batches ahead; 0 makes them when needed",
            ),
        ),
        up_to(
            MOST_AHEAD,
            count("prefetch", Some(4), 1, "batches that the workers make ahead at most"),
        ),
        default(
            TRANSFORMS,
            ParamType::List(Box::new(ParamType::Any)),
            Value::List(vec![]),
            transforms,
        ),
    ]
}

/// The key of a split's transforms, tables with a `type` each.
pub(super) const TRANSFORMS: &str = "transforms";

const LIBRARY: &str = "library that provides it: a file of plugins.dirs, or a path";
const LEVEL: &str = "order among the hooks of a point, lower first: a name from HIGHEST 0 over \
                     NORMAL 30 to LOWEST 60, or any integer; default: the hook's own";
const METRIC_LEVEL: &str = "order among the hooks and metrics of a point, lower first: a name from HIGHEST 0 over \
                            NORMAL 30 to LOWEST 60, or any integer; default: 5, before the hooks that read it";
const ON_ERROR: &str = "what an error in the hook does to the run; default: the hook's own";
const METRIC_ON_ERROR: &str = "what an error in the metric does to the run; default: abort";
const METRIC_EVERY: &str =
    "take only so many batches or epochs into account: \"10it\" or \"2ep\"; default: all";

/// What any hook entry has beside the hook's own parameters.
pub(super) fn hook_params() -> Vec<Param> {
    vec![
        type_param(Kind::Hook),
        text("library", LIBRARY),
        text("name", "instance name; default: the type"),
        any("level", LEVEL),
        param("on_error", policies(), Presence::Optional, ON_ERROR),
        any("every", "run only so often: \"100it\" or \"2ep\"; default: always"),
        any("phase", "train, val, test, pred, eval for val and test, or a list; default: all"),
    ]
}

/// What any metric entry has beside the metric's own parameters.
pub(super) fn metric_params() -> Vec<Param> {
    vec![
        type_param(Kind::Metric),
        text("library", LIBRARY),
        text("name", "name of the value; default: the type"),
        any("level", METRIC_LEVEL),
        param("on_error", policies(), Presence::Optional, METRIC_ON_ERROR),
        any("every", METRIC_EVERY),
        any("phase", "phases it is computed in: one or a list; default: val and test"),
    ]
}

/// The parameters that every entry of a kind has, whatever its type.
pub(super) fn reserved_params(kind: Kind) -> Vec<Param> {
    match kind {
        Kind::Dataset => data_params(),
        Kind::Optimizer => optimizer_params(),
        Kind::Hook => hook_params(),
        Kind::Metric => metric_params(),
        _ => vec![type_param(kind)],
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

/// `on_error =` as a type.
fn policies() -> ParamType {
    one_of(&OnError::ALL.map(OnError::name))
}

fn one_of(names: &[&str]) -> ParamType {
    ParamType::OneOf(names.iter().map(|name| (*name).to_owned()).collect())
}

fn param(name: &str, ty: ParamType, presence: Presence, doc: &str) -> Param {
    let (name, aliases, doc) = (name.to_owned(), Vec::new(), doc.to_owned());
    Param { name, aliases, doc, ty, presence, min: None, max: None }
}

fn type_param(kind: Kind) -> Param {
    param("type", ParamType::Str, Presence::Required, &format!("the name of a {}", kind.noun()))
}

fn text(name: &str, doc: &str) -> Param {
    param(name, ParamType::Str, Presence::Optional, doc)
}

fn path(name: &str, doc: &str) -> Param {
    param(name, ParamType::Path, Presence::Optional, doc)
}

/// A key whose grammar is checked where it is read.
fn any(name: &str, doc: &str) -> Param {
    param(name, ParamType::Any, Presence::Optional, doc)
}

fn default(name: &str, ty: ParamType, value: Value, doc: &str) -> Param {
    param(name, ty, Presence::Default(value), doc)
}

/// A list of patterns over names; empty unless set.
fn patterns(name: &str, doc: &str) -> Param {
    default(name, ParamType::List(Box::new(ParamType::Str)), Value::List(Vec::new()), doc)
}

/// A list of tables; empty unless set.
fn tables(name: &str, params: Vec<Param>, doc: &str) -> Param {
    let ty = ParamType::List(Box::new(ParamType::Table(params)));
    default(name, ty, Value::List(Vec::new()), doc)
}

fn count(name: &str, value: Option<i64>, min: u32, doc: &str) -> Param {
    let presence = value.map_or(Presence::Optional, |value| Presence::Default(Value::Int(value)));
    Param { min: Some(f64::from(min)), ..param(name, ParamType::Int, presence, doc) }
}

fn up_to(max: u32, param: Param) -> Param {
    Param { max: Some(f64::from(max)), ..param }
}

fn number(name: &str, value: f64, min: f64, doc: &str) -> Param {
    Param { min: Some(min), ..default(name, ParamType::Float, Value::Float(value), doc) }
}

/// The first choice is the default.
fn choice(name: &str, choices: &[&str], doc: &str) -> Param {
    let first = choices.first().copied().unwrap_or_default();
    default(name, one_of(choices), Value::Str(first.into()), doc)
}

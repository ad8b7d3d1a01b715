//! The sections of a config file and the keys of each, described by parameters like everything else.
//!
//! The keys of a fixed section come from its struct in `sections.rs`.

use hookrack_plugin_api::{Describe as _, OnError, OnRanks, Param, ParamType, Presence, Value};

use super::catalog::Kind;
use super::entries::OnSlow;
use super::sections::{
    DistributedSection, Loading, ParallelSection, ParamGroups, PluginsSection, RunSection,
    TrainSection, WeightsSection,
};

/// A section that names a component by `type =`.
pub(super) struct ComponentSection {
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    /// The default if the section is absent; without one the section is required.
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
pub(super) const TOP_LEVEL: [&str; 15] = [
    "run",
    "model",
    "weights",
    "data",
    "loss",
    "optimizer",
    "lr_scheduler",
    "schedule",
    "train",
    "distributed",
    "parallel",
    "plugins",
    "default_hooks",
    "metrics",
    "custom_hooks",
];

/// Keys with a special meaning in any file or table.
pub(super) const BASE: &str = "_base_";
pub(super) const DELETE: &str = "_delete_";

/// The description of a fixed section; `None` for a section that names a type.
pub(super) fn section_params(key: &str) -> Option<Vec<Param>> {
    match key {
        "run" => Some(RunSection::params()),
        "weights" => Some(WeightsSection::params()),
        "train" => Some(TrainSection::params()),
        "distributed" => Some(DistributedSection::params()),
        "parallel" => Some(ParallelSection::params()),
        "plugins" => Some(plugins_params()),
        _ => None,
    }
}

/// A folder is searched for in two places, so it stays as written until then.
pub(super) fn plugins_params() -> Vec<Param> {
    let mut params = PluginsSection::params();
    for param in &mut params {
        match &mut param.ty {
            ty if param.name == "dirs" => *ty = ParamType::List(Box::new(ParamType::Str)),
            ParamType::List(entry) => dir_as_written(entry),
            _ => {}
        }
    }
    params
}

fn dir_as_written(entry: &mut ParamType) {
    if let ParamType::Table(fields) = entry {
        for field in fields.iter_mut().filter(|field| field.name == "dir") {
            field.ty = ParamType::Str;
        }
    }
}

fn optimizer_params() -> Vec<Param> {
    [vec![type_param(Kind::Optimizer)], ParamGroups::params()].concat()
}

fn data_params() -> Vec<Param> {
    let doc = "Transforms of each sample, in order: tables with a `type`.";
    let any = ParamType::List(Box::new(ParamType::Any));
    let transforms = param(TRANSFORMS, any, Presence::Default(Value::List(Vec::new())), doc);
    [vec![type_param(Kind::Dataset)], Loading::params(), vec![transforms]].concat()
}

/// The key of a split's transforms, tables with a `type` each.
pub(super) const TRANSFORMS: &str = "transforms";

const LIBRARY: &str = "The library that provides it: a file in a folder of `plugins.dirs`, or a path with a `/`. \
                       Default: built in, or else the only library that has the type.";
const ON_ERROR: &str = "What an error does to the run.";

/// The key of the ranks that a hook runs on.
pub(super) const RANKS: &str = "ranks";

/// The keys of a hook's time limit, and of what happens when a call exceeds it.
pub(super) const MAX_MS: &str = "max_ms";
pub(super) const ON_SLOW: &str = "on_slow";

/// Keys added after plugins had parameters of the same name: for those plugins the parameter takes precedence.
pub(super) const LATER: [&str; 3] = [RANKS, MAX_MS, ON_SLOW];

/// The keys of every hook entry beside the hook's own parameters.
fn hook_params() -> Vec<Param> {
    vec![
        type_param(Kind::Hook),
        text("library", LIBRARY),
        text(
            "name",
            "Name of the instance, unique in the run: for state, scalars, timing and messages. Default: the type.",
        ),
        any(
            "level",
            "Order among the hooks of a point, lower first: an integer or a name from `HIGHEST` (0) over `NORMAL` (30) \
             to `LOWEST` (60). Default: the hook's own.",
        ),
        policy("on_error", &format!("{ON_ERROR} Default: the hook's own.")),
        any(
            "every",
            "Run only every n-th iteration or epoch: `\"100it\"`, `\"2ep\"`. Default: the hook's own.",
        ),
        param(
            RANKS,
            one_of(&OnRanks::EVERY.map(OnRanks::name)),
            Presence::Optional,
            "Run on all ranks of a run, only on the main one, or only on the last stage of a pipeline. Default: the hook's own.",
        ),
        Param {
            min: Some(0.0),
            ..param(
                MAX_MS,
                ParamType::Float,
                Presence::Optional,
                "Time limit of a call in milliseconds. Default: no limit.",
            )
        },
        param(
            ON_SLOW,
            one_of(&OnSlow::ALL.map(OnSlow::name)),
            Presence::Optional,
            "What happens after a call that took longer than `max_ms`: a warning, half as many calls at that point from then on, or disabling the \
             hook. Default: `warn`.",
        ),
        any(
            "phase",
            "Run only in these phases: `train`, `val`, `test`, `pred`, `eval` for val and test, or a list. Default: all.",
        ),
    ]
}

/// The keys of every metric entry beside the metric's own parameters.
fn metric_params() -> Vec<Param> {
    vec![
        type_param(Kind::Metric),
        text("library", LIBRARY),
        text("name", "Name of the value: `val/<name>`. Default: the type."),
        any(
            "level",
            "Order among the hooks and metrics of a point, lower first, as for hooks; a hook that reads the value needs \
             a higher one. Default: 5.",
        ),
        policy("on_error", &format!("{ON_ERROR} Default: `abort`.")),
        any(
            "every",
            "Update only with every n-th batch, or compute only every n-th epoch: `\"10it\"`, `\"2ep\"`. Default: always.",
        ),
        any("phase", "Phases it is computed in: one or a list. Default: val and test."),
    ]
}

/// The parameters that every entry of a kind has, regardless of its type.
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
    let names = reserved_params(kind).into_iter().map(|param| param.name);
    let own = names.filter(|name| !LATER.contains(&name.as_str()));
    own.chain([BASE.to_owned(), DELETE.to_owned()]).collect()
}

pub(super) fn one_of(names: &[&str]) -> ParamType {
    ParamType::OneOf(names.iter().map(|name| (*name).to_owned()).collect())
}

fn param(name: &str, ty: ParamType, presence: Presence, doc: &str) -> Param {
    let (name, aliases, doc) = (name.to_owned(), Vec::new(), doc.to_owned());
    Param { name, aliases, doc, ty, presence, min: None, max: None }
}

fn type_param(kind: Kind) -> Param {
    param("type", ParamType::Str, Presence::Required, &type_doc(kind))
}

/// The description of `type =` for a kind.
pub(super) fn type_doc(kind: Kind) -> String {
    let article = if matches!(kind, Kind::Optimizer | Kind::LrScheduler) { "an" } else { "a" };
    format!("The name of {article} {}.", kind.noun())
}

fn text(name: &str, doc: &str) -> Param {
    param(name, ParamType::Str, Presence::Optional, doc)
}

fn policy(name: &str, doc: &str) -> Param {
    param(name, one_of(&OnError::ALL.map(OnError::name)), Presence::Optional, doc)
}

/// A second key for `every` of a hook with its own cadence, in the hook's own unit.
pub(super) fn interval() -> Param {
    let doc = "`every` as a number, in the unit of the hook's own cadence: iterations or epochs.";
    Param { min: Some(1.0), ..param(INTERVAL, ParamType::Int, Presence::Optional, doc) }
}

/// See [`interval`].
pub(super) const INTERVAL: &str = "interval";

/// A key whose syntax is checked when it is read.
fn any(name: &str, doc: &str) -> Param {
    param(name, ParamType::Any, Presence::Optional, doc)
}

//! The library and its manifests.

use super::{Case, CaseEnv, Outcome, ensure};
use crate::context::RunParts;
use crate::torch::Op;
use hookrack_plugin_api::abi::{ABI_MAJOR, ABI_MINOR};
use hookrack_plugin_api::{Param, ParamType, Presence, Value};

pub(super) static CASES: &[Case] = &[
    Case::new("manifest.loads", "The library loads in this host.", loads),
    Case::new("manifest.loads_twice", "Loading it again gives the same manifests.", loads_twice),
    Case::new("manifest.abi", "Its ABI has the host's major version and is not newer.", abi),
    Case::new("manifest.offers", "It offers a hook or a metric.", offers),
    Case::new("manifest.version", "It has a name and a version of the form 1.2.3.", version),
    Case::new("manifest.docs", "Every hook and metric has a description.", docs),
    Case::new("manifest.param_docs", "Every parameter has a description.", param_docs),
    Case::new(
        "manifest.params_described",
        "Every hook and metric declares its parameters.",
        described,
    ),
    Case::new(
        "manifest.defaults",
        "Every default has the parameter's type and is within its limits.",
        defaults,
    ),
    Case::new("manifest.limits", "No minimum is greater than its maximum.", limits),
    Case::new("manifest.points", "Every point is known to this host.", points),
    Case::new("manifest.operators", "libtorch has every declared operator.", operators),
    Case::new("manifest.words", "`mutates` contains only known words.", words),
];

fn loads(case: &CaseEnv) -> Outcome {
    case.open().map(drop)
}

fn loads_twice(case: &CaseEnv) -> Outcome {
    let (first, second) = (case.open(), case.open());
    let first = first?;
    let (first, second) = (&first.about, &second?.about);
    let same = first.hooks == second.hooks && first.metrics == second.metrics;
    ensure(same, || "the manifests differ".to_owned())
}

fn abi(case: &CaseEnv) -> Outcome {
    let library = case.open()?;
    let (major, minor) = library.about.info.abi;
    ensure(major == ABI_MAJOR && minor <= ABI_MINOR, || {
        format!("it is ABI {major}.{minor}, this host is {ABI_MAJOR}.{ABI_MINOR}")
    })
}

fn offers(case: &CaseEnv) -> Outcome {
    let library = case.open()?;
    let is_empty = library.hooks.is_empty() && library.metrics.is_empty();
    ensure(!is_empty, || "it offers no hook and no metric".to_owned())
}

fn version(case: &CaseEnv) -> Outcome {
    let library = case.open()?;
    let info = &library.about.info;
    let core = info.version.split(['-', '+']).next().unwrap_or_default();
    let numbers = core.split('.').filter(|part| part.parse::<u64>().is_ok()).count();
    ensure(!info.name.is_empty() && numbers == 3, || {
        format!("name `{}`, version `{}`", info.name, info.version)
    })
}

fn docs(case: &CaseEnv) -> Outcome {
    each(case, |name, doc, _| {
        ensure(!doc.trim().is_empty(), || format!("`{name}` has no description"))
    })
}

fn param_docs(case: &CaseEnv) -> Outcome {
    each_param(case, |name, param| {
        ensure(!param.doc.trim().is_empty(), || {
            format!("`{name}.{}` has no description", param.name)
        })
    })
}

fn described(case: &CaseEnv) -> Outcome {
    each(case, |name, _, params| ensure(params.is_some(), || format!("`{name}` declares none")))
}

fn defaults(case: &CaseEnv) -> Outcome {
    each_param(case, |name, param| {
        let Presence::Default(value) = &param.presence else { return Ok(()) };
        let number = match value {
            #[expect(clippy::cast_precision_loss, reason = "limits are floats")]
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        };
        let within = number.is_none_or(|number| {
            param.min.is_none_or(|min| number >= min) && param.max.is_none_or(|max| number <= max)
        });
        let fits = match (&param.ty, value) {
            (ParamType::Bool, Value::Bool(_))
            | (ParamType::Int, Value::Int(_))
            | (ParamType::Float, Value::Int(_) | Value::Float(_))
            | (ParamType::Str | ParamType::Path | ParamType::Monitor, Value::Str(_))
            | (ParamType::List(_), Value::List(_))
            | (ParamType::Table(_) | ParamType::Model, Value::Table(_))
            | (ParamType::Any, _) => true,
            (ParamType::OneOf(names), Value::Str(name)) => names.contains(name),
            _ => false,
        };
        ensure(within && fits, || format!("`{name}.{}` has {value:?}", param.name))
    })
}

fn limits(case: &CaseEnv) -> Outcome {
    each_param(case, |name, param| {
        let sound = param.min.zip(param.max).is_none_or(|(min, max)| min <= max);
        ensure(sound, || format!("`{name}.{}`: {:?} to {:?}", param.name, param.min, param.max))
    })
}

fn points(case: &CaseEnv) -> Outcome {
    let library = case.open()?;
    library.hooks.iter().try_for_each(|hook| {
        let unknown = &hook.manifest.unknown_points;
        ensure(unknown.is_empty(), || format!("`{}`: {}", hook.name(), unknown.join(", ")))
    })
}

fn operators(case: &CaseEnv) -> Outcome {
    let library = case.open()?;
    let hooks = library.hooks.iter().flat_map(|hook| hook.manifest.ops.clone());
    let metrics = library.metrics.iter().flat_map(|metric| metric.manifest.ops.clone());
    let found = |name: String| Op::find(&name).map(drop).map_err(|error| error.to_string());
    hooks.chain(metrics).try_for_each(found)
}

fn words(case: &CaseEnv) -> Outcome {
    let library = case.open()?;
    library.hooks.iter().try_for_each(|hook| {
        let is_unknown =
            |word: &&String| RunParts::declared(std::slice::from_ref(*word)).is_empty();
        let other = hook.manifest.mutates.iter().find(is_unknown);
        ensure(other.is_none(), || format!("`{}`: {other:?}", hook.name()))
    })
}

/// Checks the name, the description and the parameters of every hook and metric.
fn each(case: &CaseEnv, look: impl Fn(&str, &str, Option<&[Param]>) -> Outcome) -> Outcome {
    let library = case.open()?;
    library
        .hooks
        .iter()
        .map(|it| &it.manifest)
        .try_for_each(|it| look(&it.name, &it.doc, it.params.as_deref()))?;
    library
        .metrics
        .iter()
        .map(|it| &it.manifest)
        .try_for_each(|it| look(&it.name, &it.doc, it.params.as_deref()))
}

fn each_param(case: &CaseEnv, look: impl Fn(&str, &Param) -> Outcome) -> Outcome {
    each(case, |name, _, params| {
        params.unwrap_or_default().iter().try_for_each(|param| look(name, param))
    })
}

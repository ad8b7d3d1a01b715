//! Valid and invalid settings, passed to `create` directly.

use super::case_env::settings;
use super::{Case, CaseEnv, Outcome, ensure};
use crate::context::Context;
use crate::plugins::{HookType, Instance, MetricTrial, MetricType, NO_REASON};
use hookrack_plugin_api::{Param, ParamType, Value};
use std::rc::Rc;

pub(super) static CASES: &[Case] = &[
    Case::new(
        "settings.defaults",
        "Every hook and metric can be created with its defaults.",
        defaults,
    ),
    Case::new("settings.minimum", "Every number can be set to its minimum.", minimum),
    Case::new("settings.maximum", "Every number can be set to its maximum.", maximum),
    Case::new("settings.choices", "Every choice is accepted.", choices),
    Case::new("settings.below_minimum", "A number below its minimum causes no crash.", below),
    Case::new("settings.above_maximum", "A number above its maximum causes no crash.", above),
    Case::new("settings.wrong_type", "A value of the wrong type is refused.", wrong_type),
    Case::new("settings.nan", "NaN and infinity cause no crash.", nan),
    Case::new("settings.long_text", "A string of 1 MB causes no crash.", long_text),
    Case::new("settings.unknown_key", "An unknown key causes no crash.", unknown_key),
    Case::new("settings.empty", "An empty table is refused or gives the defaults.", empty),
    Case::new("settings.no_table", "Settings that are not a table cause no crash.", no_table),
    Case::new("settings.nested", "A deeply nested value causes no crash.", nested),
    Case::new("settings.reasons", "Refused settings are reported with a reason.", reasons),
];

/// A hook or a metric of the library.
enum Type {
    Hook(HookType),
    Metric(MetricType),
}

impl Type {
    fn name(&self) -> &str {
        match self {
            Self::Hook(hook) => hook.name(),
            Self::Metric(metric) => metric.name(),
        }
    }

    fn params(&self) -> Option<&[Param]> {
        match self {
            Self::Hook(hook) => hook.manifest.params.as_deref(),
            Self::Metric(metric) => metric.manifest.params.as_deref(),
        }
    }
}

fn make(of: &Type, value: &Value, context: &Rc<Context>) -> Outcome {
    match of {
        Type::Hook(hook) => Instance::hook(hook, hook.name(), value, context).map(drop),
        Type::Metric(metric) => MetricTrial::new(metric, value, context).map(drop),
    }
}

/// Creates every hook and metric with settings that `change` makes from its defaults, one parameter at a time.
fn with(
    case: &CaseEnv,
    change: impl Fn(&Param) -> Vec<Value>,
    check: impl Fn(Outcome) -> Outcome,
) -> Outcome {
    tried(case, |hook, whole, context| {
        for param in hook.params().unwrap_or_default() {
            for value in change(param) {
                let tree = replaced(whole, &param.name, value.clone());
                check(make(hook, &tree, context)).map_err(|why| {
                    format!("`{}.{}` = {value:?}: {why}", hook.name(), param.name)
                })?;
            }
        }
        Ok(())
    })
}

fn tried(case: &CaseEnv, try_one: impl Fn(&Type, &Value, &Rc<Context>) -> Outcome) -> Outcome {
    let context = case.context()?;
    let hooks = case.hooks()?.into_iter().map(Type::Hook);
    for one in hooks.chain(case.metrics()?.into_iter().map(Type::Metric)) {
        let whole = settings(one.params()).unwrap_or_else(Value::empty);
        try_one(&one, &whole, &context)?;
    }
    Ok(())
}

fn replaced(whole: &Value, key: &str, value: Value) -> Value {
    let Value::Table(entries) = whole else { return Value::Table(vec![(key.to_owned(), value)]) };
    let mut entries: Vec<_> = entries.iter().filter(|(name, _)| name != key).cloned().collect();
    entries.push((key.to_owned(), value));
    Value::Table(entries)
}

/// Accepts any result: the process did not crash.
#[expect(clippy::unnecessary_wraps, reason = "has the signature of a check")]
fn survived(_made: Outcome) -> Outcome {
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "limits of integers are integers")]
fn number(param: &Param, number: f64) -> Option<Value> {
    match param.ty {
        ParamType::Int => Some(Value::Int(number as i64)),
        ParamType::Float => Some(Value::Float(number)),
        _ => None,
    }
}

fn defaults(case: &CaseEnv) -> Outcome {
    tried(case, |hook, whole, context| {
        make(hook, whole, context).map_err(|why| format!("`{}`: {why}", hook.name()))
    })
}

/// Sets each number to a limit of its own. A rule between settings may refuse that, with an error that names another one.
fn at_limit(case: &CaseEnv, limit: fn(&Param) -> Option<f64>) -> Outcome {
    tried(case, |hook, whole, context| {
        let params = hook.params().unwrap_or_default();
        for param in params {
            let Some(value) = limit(param).and_then(|limit| number(param, limit)) else { continue };
            let made = make(hook, &replaced(whole, &param.name, value.clone()), context);
            let is_another = |word: &str| {
                params.iter().any(|other| other.name == word && other.name != param.name)
            };
            if let Err(why) = made
                && !why.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_another)
            {
                return Err(format!("`{}.{}` = {value:?}: {why}", hook.name(), param.name));
            }
        }
        Ok(())
    })
}

fn minimum(case: &CaseEnv) -> Outcome {
    at_limit(case, |param| param.min)
}

fn maximum(case: &CaseEnv) -> Outcome {
    at_limit(case, |param| param.max)
}

fn choices(case: &CaseEnv) -> Outcome {
    let all = |param: &Param| match &param.ty {
        ParamType::OneOf(names) => names.iter().cloned().map(Value::Str).collect(),
        _ => Vec::new(),
    };
    with(case, all, |it| it)
}

fn below(case: &CaseEnv) -> Outcome {
    let beyond = |param: &Param| param.min.and_then(|min| number(param, min - 1.0));
    with(case, |param| beyond(param).into_iter().collect(), survived)
}

fn above(case: &CaseEnv) -> Outcome {
    let beyond = |param: &Param| param.max.and_then(|max| number(param, max + 1.0));
    with(case, |param| beyond(param).into_iter().collect(), survived)
}

fn wrong_type(case: &CaseEnv) -> Outcome {
    let other = |param: &Param| match param.ty {
        ParamType::Any | ParamType::Model => Vec::new(),
        ParamType::Bool => vec![Value::Str("yes".to_owned())],
        ParamType::Str | ParamType::Path | ParamType::Monitor | ParamType::OneOf(_) => {
            vec![Value::Bool(true)]
        }
        _ => vec![Value::Str("many".to_owned())],
    };
    with(case, other, |made| ensure(made.is_err(), || "it was accepted".to_owned()))
}

fn nan(case: &CaseEnv) -> Outcome {
    let odd = |param: &Param| match param.ty {
        ParamType::Float => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(Value::Float).to_vec(),
        ParamType::Int => [i64::MIN, i64::MAX].map(Value::Int).to_vec(),
        _ => Vec::new(),
    };
    with(case, odd, survived)
}

fn long_text(case: &CaseEnv) -> Outcome {
    let long = |param: &Param| match param.ty {
        ParamType::Str | ParamType::OneOf(_) => vec![Value::Str("\u{e9}".repeat(500_000))],
        _ => Vec::new(),
    };
    with(case, long, survived)
}

fn unknown_key(case: &CaseEnv) -> Outcome {
    tried(case, |hook, whole, context| {
        survived(make(hook, &replaced(whole, "no_such_key", Value::Int(1)), context))
    })
}

fn empty(case: &CaseEnv) -> Outcome {
    tried(case, |hook, _, context| survived(make(hook, &Value::empty(), context)))
}

fn no_table(case: &CaseEnv) -> Outcome {
    let others = [Value::Int(7), Value::Str("text".into()), Value::List(vec![Value::Bool(true)])];
    tried(case, |hook, _, context| {
        others.iter().try_for_each(|other| survived(make(hook, other, context)))
    })
}

fn nested(case: &CaseEnv) -> Outcome {
    let deep = (0..90).fold(Value::Int(1), |inner, _| Value::List(vec![inner]));
    with(case, |_| vec![deep.clone()], survived)
}

fn reasons(case: &CaseEnv) -> Outcome {
    let other = |param: &Param| match param.ty {
        ParamType::Int | ParamType::Float => vec![Value::Str("many".to_owned())],
        _ => Vec::new(),
    };
    with(case, other, |made| match made {
        Err(why) if why.contains(NO_REASON) => Err(why),
        _ => Ok(()),
    })
}

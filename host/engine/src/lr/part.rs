//! A schedule within another one: `{ type = "…", … }` as a setting.

use hookrack_plugin_api::Value;

use super::{Horizon, LR_SCHEDULES, LrSchedule};
use crate::registry::Choice;

/// What a config writes for a schedule within a schedule.
pub(super) type Part = serde_json::Value;

/// Builds a part that has `steps` steps of its own, which are counted as the whole counts them.
pub(super) fn build(
    part: &Part,
    by_epoch: bool,
    steps: u64,
) -> Result<Box<dyn LrSchedule>, String> {
    let choice = choice(part)?;
    let horizon = Horizon { iters: steps, epochs: steps };
    let schedule =
        choice.build("lr scheduler", LR_SCHEDULES, &horizon).map_err(|error| error.to_string())?;
    if schedule.by_epoch() && !by_epoch {
        return Err(format!(
            "`{}` counts epochs and the schedule around it iterations; write by_epoch around it",
            choice.name
        ));
    }
    Ok(schedule)
}

fn choice(part: &Part) -> Result<Choice, String> {
    let name = part.get("type").and_then(Part::as_str);
    let (Some(name), Value::Table(mut settings)) = (name, value(part)) else {
        return Err(format!("{part} is no schedule; write {{ type = \"StepLR\", … }}"));
    };
    settings.retain(|(key, _)| key != "type");
    Ok(Choice { name: name.to_owned(), settings: Value::Table(settings) })
}

/// The same value in the form that settings have.
pub(super) fn value(part: &Part) -> Value {
    match part {
        Part::Null => Value::empty(),
        Part::Bool(flag) => Value::Bool(*flag),
        Part::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Part::String(text) => Value::Str(text.clone()),
        Part::Array(items) => Value::List(items.iter().map(value).collect()),
        Part::Object(fields) => {
            Value::Table(fields.iter().map(|(key, field)| (key.clone(), value(field))).collect())
        }
    }
}

//! The checks of a config entry that the host makes before a hook receives its settings: cadence, names and ranges.

use crate::describe::Param;
use crate::error::Result;
use crate::every::Every;
use crate::value::Value;

/// Refuses a key that the hook does not describe, and a number outside of its range.
pub(super) fn check(params: Option<Vec<Param>>, settings: &Value) -> Result<()> {
    let (Some(params), Value::Table(fields)) = (params, settings) else { return Ok(()) };
    for (key, value) in fields {
        let known = params.iter().find(|param| param.name == *key || param.aliases.contains(key));
        let Some(param) = known else {
            let names: Vec<_> = params.iter().map(|param| param.name.as_str()).collect();
            crate::bail!("unknown key `{key}`: the keys are {names:?}");
        };
        let Some(number) = value.as_f64() else { continue };
        let too_small = param.min.is_some_and(|min| number < min);
        if too_small || param.max.is_some_and(|max| number > max) {
            let (min, max) = (param.min, param.max);
            let bounds = |limit: Option<f64>| limit.map_or_else(|| "…".into(), |it| it.to_string());
            crate::bail!(
                "`{key}` is out of range: {number}, must be between {} and {}",
                bounds(min),
                bounds(max)
            );
        }
    }
    Ok(())
}

/// A hook's cadence and its settings without the keys that say it: `every`, or `interval` for the count of a hook that has
/// a cadence of its own.
pub(super) fn cadence(own: &str, settings: Value) -> Result<(Every, Value)> {
    let own = Every::parse(own).unwrap_or(Every::Always);
    let Value::Table(mut fields) = settings else { return Ok((own, settings)) };
    let mut take = |key: &str| {
        let at = fields.iter().position(|(field, _)| field == key)?;
        Some(fields.remove(at).1)
    };
    let every = if let Some(written) = take("every") {
        let parsed = written.as_str().and_then(|text| Every::parse(text).ok());
        let Some(every) = parsed else {
            crate::bail!(
                "`every` must be a number of iterations or epochs, such as \"10it\" or \"2ep\""
            );
        };
        every
    } else if own != Every::Always
        && let Some(count) = take("interval")
    {
        let count = count.as_i64().and_then(|count| u64::try_from(count).ok()).filter(|n| *n > 0);
        let Some(count) = count else { crate::bail!("`interval` must be at least 1") };
        own.with_count(count)
    } else {
        own
    };
    Ok((every, Value::Table(fields)))
}

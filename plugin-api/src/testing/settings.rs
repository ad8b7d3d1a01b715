//! The host's check of settings before a hook sees them: names and ranges.

use crate::describe::Param;
use crate::error::Result;
use crate::value::Value;

/// Refuses a key that the hook does not describe, and a number outside of its range.
pub(super) fn check(params: Option<Vec<Param>>, settings: &Value) -> Result<()> {
    let (Some(params), Value::Table(fields)) = (params, settings) else { return Ok(()) };
    for (key, value) in fields {
        let known = params.iter().find(|param| param.name == *key || param.aliases.contains(key));
        let Some(param) = known else {
            let names: Vec<_> = params.iter().map(|param| param.name.as_str()).collect();
            crate::bail!("no setting `{key}`; there are {names:?}");
        };
        let Some(number) = value.as_f64() else { continue };
        let too_small = param.min.is_some_and(|min| number < min);
        if too_small || param.max.is_some_and(|max| number > max) {
            let (min, max) = (param.min, param.max);
            let bounds = |limit: Option<f64>| limit.map_or_else(|| "…".into(), |it| it.to_string());
            crate::bail!("`{key}` = {number} is not within {}..={}", bounds(min), bounds(max));
        }
    }
    Ok(())
}

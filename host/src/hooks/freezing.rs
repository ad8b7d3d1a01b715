//! Freezing: parameters, by name, that stay as they are for a while.

use hookrack_plugin_api::prelude::*;

static REQUIRES_GRAD: CachedOp = CachedOp::new("aten::requires_grad_");

/// Whether a name fits a pattern in which `*` stands for anything.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Has gradients recorded for the parameters that are not frozen, and for no others. A parameter without a gradient is
/// not stepped, and its part of the backward pass is not computed.
pub(super) fn apply(t: &Trainer, is_frozen: impl Fn(&str) -> bool) -> Result<usize> {
    let mut frozen = 0;
    for (name, param) in t.param_names()?.iter().zip(t.params().iter()) {
        let keep = is_frozen(name);
        frozen += usize::from(keep);
        t.call(&REQUIRES_GRAD, &[Arg::from(&param), Arg::from(!keep)])?;
    }
    Ok(frozen)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, expected) in [
            ("net.0.weight", "net.0.weight", true),
            ("net.0.*", "net.0.weight", true),
            ("net.0.*", "net.10.weight", false),
            ("*.weight", "net.0.weight", true),
            ("*.weight", "net.0.bias", false),
            ("net.*.bias", "net.3.norm.bias", true),
            ("n*t*s", "net.weights", true),
            ("n*x*s", "net.weights", false),
            ("*", "anything", true),
            ("", "net", false),
            ("weight", "net.weight", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}

//! Hosts of other versions: one that is older than every extension, and one of a later minor version.

use super::points::{call, instance};
use super::runs::{fit, weights};
use super::{Case, CaseEnv, Outcome, ensure};
use crate::plugins::{appear_newer, hide_extensions};
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::HrStatus;

pub(super) static CASES: &[Case] = &[
    Case::new("host.without_extensions", "A host without extensions causes no crash.", old),
    Case::new(
        "host.newer",
        "A run in a host of a later minor version ends with the weights of a run in this one.",
        newer,
    ),
    Case::new(
        "host.newer_points",
        "Points added by a host of a later minor version are ignored.",
        newer_points,
    ),
];

/// How many points the simulated host has gained: their codes follow those of this one.
const GAINED: usize = 8;

#[expect(clippy::unnecessary_wraps, reason = "has the signature of a check")]
fn old(case: &CaseEnv) -> Outcome {
    hide_extensions();
    let trainer = case.entries("").and_then(|entries| case.trainer(&entries, &[]));
    // Errors are expected; crashes are not.
    let _ = trainer.map(|mut trainer| trainer.fit());
    Ok(())
}

fn newer(case: &CaseEnv) -> Outcome {
    let here = fit(case, "", &[])?;
    appear_newer();
    let there = fit(case, "", &[])?;
    ensure(weights(&here) == weights(&there), || "the weights differ".to_owned())
}

fn newer_points(case: &CaseEnv) -> Outcome {
    appear_newer();
    let context = case.context()?;
    case.hooks()?.iter().try_for_each(|hook| {
        let mut instance = instance(hook, &context)?;
        hook.manifest.points.iter().try_for_each(|point| {
            call(&mut instance, *point)?;
            (1..=GAINED).try_for_each(|more| {
                let code = u32::try_from(Point::COUNT + more).unwrap_or(u32::MAX);
                let status = instance.on_code(code);
                ensure(status == HrStatus::OK, || {
                    format!("`{}`: an error at point code {code} after {point}", hook.name())
                })
            })
        })
    })
}

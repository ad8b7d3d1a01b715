//! Conformance tests of plugins: cases that `hookrack test-plugin` runs, each in its own process.
//!
//! A case is a function over a [`CaseEnv`]: a folder, a tiny config that names the library, and a seed. A crash or a hang of the process is a failure of the case.

mod case_env;
mod claims;
mod given;
mod hosts;
mod killed;
mod manifest;
mod metrics;
mod points;
mod resources;
mod runs;
mod settings;
mod state;

pub use case_env::{CaseEnv, LOCK};
pub use given::{Given, GivenSetting};

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The plugin conforms.
    Passed,
    /// The case does not apply, and why.
    Skipped(String),
    /// The plugin does not conform, and why.
    Failed(String),
}

/// One case.
#[derive(Clone, Copy)]
pub struct Case {
    /// Group and name: `state.round_trip`.
    pub name: &'static str,
    /// What it requires of a plugin, in a sentence.
    pub demands: &'static str,
    /// Runs it.
    pub run: fn(&CaseEnv) -> Verdict,
}

impl Case {
    const fn new(name: &'static str, demands: &'static str, run: fn(&CaseEnv) -> Verdict) -> Self {
        Self { name, demands, run }
    }
}

/// Every case, in the order in which they run.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    let groups: [&'static [Case]; 10] = [
        manifest::CASES,
        settings::CASES,
        points::CASES,
        runs::CASES,
        hosts::CASES,
        killed::CASES,
        claims::CASES,
        state::CASES,
        metrics::CASES,
        resources::CASES,
    ];
    groups.into_iter().flatten()
}

/// Failed with the first error, if there is one.
fn first_fault(faults: impl IntoIterator<Item = Result<(), String>>) -> Verdict {
    match faults.into_iter().find_map(Result::err) {
        Some(fault) => Verdict::Failed(fault),
        None => Verdict::Passed,
    }
}

fn judge(result: Result<(), String>) -> Verdict {
    first_fault([result])
}

fn ensure(holds: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault()) }
}

#[cfg(test)]
mod tests {
    use super::cases;
    use std::collections::BTreeSet;

    #[test]
    fn cases_have_names_of_their_own_and_are_more_than_the_44_of_clap_validator() {
        let names: BTreeSet<_> = cases().map(|case| case.name).collect();
        assert_eq!(names.len(), cases().count());
        assert!(names.len() > 44, "{} cases", names.len());
        assert!(cases().all(|case| case.name.contains('.') && case.demands.ends_with('.')));
    }
}

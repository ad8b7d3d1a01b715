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

/// What a case finds: nothing, or why the plugin does not conform.
type Outcome = Result<(), String>;

/// Why a case does not apply to a plugin, if it does not.
type Exemption = fn(&CaseEnv) -> Result<Option<String>, String>;

/// One case.
#[derive(Clone, Copy)]
pub struct Case {
    /// Group and name: `state.round_trip`.
    pub name: &'static str,
    /// What it requires of a plugin, in a sentence.
    pub demands: &'static str,
    exemption: Exemption,
    check: fn(&CaseEnv) -> Outcome,
}

impl Case {
    const fn new(
        name: &'static str,
        demands: &'static str,
        check: fn(&CaseEnv) -> Outcome,
    ) -> Self {
        Self { name, demands, exemption: |_| Ok(None), check }
    }

    const fn unless(self, exemption: Exemption) -> Self {
        Self { exemption, ..self }
    }

    /// Runs it.
    pub fn run(&self, env: &CaseEnv) -> Verdict {
        match (self.exemption)(env) {
            Ok(Some(why)) => Verdict::Skipped(why),
            Ok(None) => (self.check)(env).map_or_else(Verdict::Failed, |()| Verdict::Passed),
            Err(why) => Verdict::Failed(why),
        }
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

fn ensure(holds: bool, fault: impl FnOnce() -> String) -> Outcome {
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

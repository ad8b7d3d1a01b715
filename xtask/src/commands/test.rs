//! `cargo xtask test`: every test on this CPU, or those that compute on every CPU that this one can emulate.

use std::process::Command;

use super::{Profile, build};
use crate::{
    cli::Test,
    error::TaskError,
    process, report,
    testing::{
        self, Failure, Tally, Transcript, UNIT_TARGETS, WORKSPACE,
        cpus::{self, CPUS},
    },
    workspace::Workspace,
};

pub(crate) fn test(workspace: &Workspace, args: &Test) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    let mut tally = Tally::default();
    if args.cpus {
        on_every_cpu(workspace, args, &mut tally);
    } else {
        for part in parts(args) {
            add(&mut tally, part.name, args, &|args| part.command(workspace, args));
        }
        // Separately, so that its features do not change those of the host's dependencies.
        add(&mut tally, XTASK.name, args, &|args| XTASK.command(workspace, args));
    }
    Ok(tally.summarize()?)
}

/// Tests that `cargo test` runs in the same way.
struct Part {
    name: &'static str,
    packages: &'static [&'static str],
    targets: &'static [&'static str],
    /// Whether tests of one program run at the same time: not if they share libtorch's random numbers.
    parallel: bool,
}

const UNITS: Part =
    Part { name: "unit tests", packages: &WORKSPACE, targets: &UNIT_TARGETS, parallel: false };
const SUITE: Part =
    Part { name: "suite", packages: &WORKSPACE, targets: &["--test=*"], parallel: true };
const DOCS: Part =
    Part { name: "doc tests", packages: &WORKSPACE, targets: &["--doc"], parallel: true };
const XTASK: Part =
    Part { name: "xtask", packages: &["--package=xtask"], targets: &[], parallel: true };

/// The parts of the workspace that the arguments select.
fn parts(args: &Test) -> &'static [Part] {
    if args.lib { &[UNITS] } else { &[UNITS, SUITE, DOCS] }
}

impl Part {
    fn command(&self, workspace: &Workspace, args: &Test) -> Command {
        let mut command = process::cargo();
        command.current_dir(workspace.root()).args(["test", "--no-fail-fast"]);
        command.args(self.packages).args(self.targets);
        if self.parallel {
            testing::in_parallel(&mut command);
        }
        if report::is_terminal() {
            command.arg("--color=always");
        }
        if !args.filters.is_empty() {
            command.arg("--").args(&args.filters);
        }
        command
    }
}

/// xtask computes nothing, and most of the suite compares no numbers that libtorch computes.
fn on_every_cpu(workspace: &Workspace, args: &Test, tally: &mut Tally) {
    let flags = cpus::flags();
    let every_test = !args.lib && args.filters.is_empty();
    let numeric = Test { filters: cpus::numeric_tests().collect(), ..args.clone() };
    for cpu in &CPUS {
        let name = cpu.name();
        if let Some(why) = cpu.missing(&flags) {
            tally.skip(&name, &why);
            continue;
        }
        // Doc tests compare no numbers.
        for part in parts(args).iter().filter(|part| part.name != DOCS.name) {
            let args = if every_test && part.name == SUITE.name { &numeric } else { args };
            add(tally, &format!("{name}: {}", part.name), args, &|args| {
                let mut command = part.command(workspace, args);
                cpu.apply(&mut command);
                command
            });
        }
    }
}

/// Makes the command that runs the tests that the arguments select.
type Tester<'a> = &'a dyn Fn(&Test) -> Command;

fn add(tally: &mut Tally, name: &str, args: &Test, tester: Tester<'_>) {
    report::step(&format!("testing: {name}"));
    match testing::run(&mut tester(args), report::passed_on) {
        Ok(transcript) => {
            let flaky = if args.retry { flaky(&transcript, tester) } else { Vec::new() };
            tally.add(name, &transcript, &flaky);
        }
        Err(error) => tally.add_broken(name, &error),
    }
}

/// The failures whose tests pass when they are run again, alone.
fn flaky(run: &Transcript, tester: Tester<'_>) -> Vec<Failure> {
    let failures = run.failures();
    let names: Vec<_> = failures.iter().filter_map(|failure| failure.test.clone()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    report::step(&format!("running {} again", names.join(", ")));
    let Ok(second) = testing::run(&mut tester(&by_name(&names)), report::passed_on) else {
        return Vec::new();
    };
    let failed_again = second.failures();
    let same = |one: &Failure, other: &Failure| {
        one.program == other.program && (one.test == other.test || other.test.is_none())
    };
    let passed = |failure: &Failure| {
        failure.test.is_some() && !failed_again.iter().any(|other| same(failure, other))
    };
    failures.into_iter().filter(passed).collect()
}

/// Selects exactly these tests.
fn by_name(names: &[String]) -> Test {
    Test { filters: [&["--exact".to_owned()], names].concat(), ..Test::default() }
}

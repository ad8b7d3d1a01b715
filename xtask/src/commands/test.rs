//! `cargo xtask test`: every test on this CPU, or those that compute on every CPU that this one can emulate.

use std::process::Command;

use super::{Profile, build};
use crate::{
    cli::Test,
    error::TaskError,
    process, report,
    testing::{
        self, Failure, Tally, Transcript, WORKSPACE,
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
        let again = |names: &[String]| cargo_test(workspace, &WORKSPACE, &by_name(names));
        let again: Option<Again<'_>> = args.retry.then_some(&again);
        add(&mut tally, "workspace", cargo_test(workspace, &WORKSPACE, args), again);
        // Separately, so that its features do not change those of the host's dependencies.
        add(&mut tally, "xtask", cargo_test(workspace, &["--package=xtask"], args), None);
    }
    Ok(tally.summarize()?)
}

/// xtask computes nothing, and most of the suite compares no numbers that libtorch computes.
fn on_every_cpu(workspace: &Workspace, args: &Test, tally: &mut Tally) {
    let flags = cpus::flags();
    for cpu in &CPUS {
        let name = cpu.name();
        if let Some(why) = cpu.missing(&flags) {
            tally.skip(&name, &why);
            continue;
        }
        for (part, mut command) in numeric_tests(workspace, args) {
            cpu.apply(&mut command);
            add(tally, &format!("{name}{part}"), command, None);
        }
    }
}

/// The unit tests, then the numeric tests of the suite; or what the filters select.
fn numeric_tests(workspace: &Workspace, args: &Test) -> Vec<(&'static str, Command)> {
    if args.lib || !args.filters.is_empty() {
        return vec![("", cargo_test(workspace, &WORKSPACE, args))];
    }
    let units = Test { lib: true, ..Test::default() };
    let suite = Test { filters: cpus::numeric_tests().collect(), ..Test::default() };
    let in_suite = [&WORKSPACE[..], &["--test=suite"]].concat();
    vec![
        (": unit tests", cargo_test(workspace, &WORKSPACE, &units)),
        (": suite", cargo_test(workspace, &in_suite, &suite)),
    ]
}

/// The command that runs the named tests again.
type Again<'a> = &'a dyn Fn(&[String]) -> Command;

fn add(tally: &mut Tally, name: &str, mut command: Command, again: Option<Again<'_>>) {
    report::step(&format!("testing: {name}"));
    match testing::run(&mut command, report::passed_on) {
        Ok(transcript) => {
            let flaky = again.map_or(Vec::new(), |again| flaky(&transcript, again));
            tally.add(name, &transcript, &flaky);
        }
        Err(error) => tally.add_broken(name, &error),
    }
}

/// The failures whose tests pass when they are run again, alone.
fn flaky(run: &Transcript, again: Again<'_>) -> Vec<Failure> {
    let failures = run.failures();
    let names: Vec<_> = failures.iter().filter_map(|failure| failure.test.clone()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    report::step(&format!("running {} again", names.join(", ")));
    let Ok(second) = testing::run(&mut again(&names), report::passed_on) else {
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

fn cargo_test(workspace: &Workspace, which: &[&str], args: &Test) -> Command {
    let mut command = process::cargo();
    command.current_dir(workspace.root()).args(["test", "--no-fail-fast"]).args(which);
    if report::is_terminal() {
        command.arg("--color=always");
    }
    if args.lib {
        command.arg("--lib");
    }
    if !args.filters.is_empty() {
        command.arg("--").args(&args.filters);
    }
    command
}

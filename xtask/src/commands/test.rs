//! `cargo xtask test`: every test on this CPU, or those that compute on every CPU that this one can emulate.

use std::process::Command;

use super::{Profile, build};
use crate::{
    cli::Test,
    error::TaskError,
    process, report,
    testing::{
        self, Tally,
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
        add(&mut tally, "workspace", cargo_test(workspace, &WORKSPACE, args));
        // By itself: its choice must not change the features that the host's dependencies are built with.
        add(&mut tally, "xtask", cargo_test(workspace, &["--package=xtask"], args));
    }
    Ok(tally.summarize()?)
}

const WORKSPACE: [&str; 2] = ["--workspace", "--exclude=xtask"];

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
            add(tally, &format!("{name}{part}"), command);
        }
    }
}

/// The unit tests, then the numeric tests of the suite; or whatever the filters select.
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

fn add(tally: &mut Tally, name: &str, mut command: Command) {
    report::step(&format!("testing: {name}"));
    match testing::run(&mut command, report::passed_on) {
        Ok(transcript) => tally.add(name, &transcript),
        Err(error) => tally.add_broken(name, &error),
    }
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

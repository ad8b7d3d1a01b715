//! `cargo xtask test`: every test, with the plugins built and in place, on this CPU or on all that it can play.

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
        add(&mut tally, "workspace", &mut cargo_test(workspace, &WORKSPACE, args));
        // By itself: its choice must not change the features that the host's dependencies are built with.
        add(&mut tally, "xtask", &mut cargo_test(workspace, &["--package=xtask"], args));
    }
    Ok(tally.summarize()?)
}

const WORKSPACE: [&str; 2] = ["--workspace", "--exclude=xtask"];

/// xtask computes nothing.
fn on_every_cpu(workspace: &Workspace, args: &Test, tally: &mut Tally) {
    let flags = cpus::flags();
    for cpu in &CPUS {
        if let Some(why) = cpu.missing(&flags) {
            tally.skip(&cpu.name(), &why);
            continue;
        }
        let mut command = cargo_test(workspace, &WORKSPACE, args);
        cpu.apply(&mut command);
        add(tally, &cpu.name(), &mut command);
    }
}

fn add(tally: &mut Tally, name: &str, command: &mut std::process::Command) {
    report::step(&format!("testing: {name}"));
    match testing::run(command, report::passed_on) {
        Ok(transcript) => tally.add(name, &transcript),
        Err(error) => tally.add_broken(name, &error),
    }
}

fn cargo_test(workspace: &Workspace, which: &[&str], args: &Test) -> std::process::Command {
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

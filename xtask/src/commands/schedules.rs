//! `cargo xtask schedules`: checks the tables of random layouts and runs each in a simulator.

use crate::{
    error::TaskError,
    process, report,
    testing::{UNIT_TARGETS, WORKSPACE},
    workspace::Workspace,
};

pub(crate) fn schedules(workspace: &Workspace, layouts: u64) -> Result<(), TaskError> {
    report::step(&format!("{layouts} random layouts"));
    let mut command = process::cargo();
    command.current_dir(workspace.root());
    command.arg("test").args(WORKSPACE).args(UNIT_TARGETS).args(["--", "random_layouts"]);
    command.env("HOOKRACK_LAYOUTS", layouts.to_string());
    Ok(process::run(&mut command)?)
}

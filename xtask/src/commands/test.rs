//! `cargo xtask test`: every test, with the plugins built and in place.

use super::{Profile, build};
use crate::{error::TaskError, process, report, workspace::Workspace};

pub(crate) fn test(workspace: &Workspace, filters: &[String]) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step("testing the workspace");
    cargo_test(workspace, &["--workspace", "--exclude=xtask"], filters)?;
    report::step("testing xtask");
    cargo_test(workspace, &["--package=xtask"], filters)
}

fn cargo_test(workspace: &Workspace, which: &[&str], filters: &[String]) -> Result<(), TaskError> {
    let mut command = process::cargo();
    command.current_dir(workspace.root()).arg("test").args(which);
    if !filters.is_empty() {
        command.arg("--").args(filters);
    }
    Ok(process::run(&mut command)?)
}

//! `cargo xtask mutate`: damaged copies of a good plugin, offered to the host.

use super::{Profile, build};
use crate::{error::TaskError, process, report, workspace::Workspace};

pub(crate) fn mutate(workspace: &Workspace, count: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("{count} damaged copies of a plugin"));
    let mut command = process::cargo();
    command.current_dir(workspace.root());
    command.args(["test", "--package=hookrack-tests", "--", "mutations::"]);
    command.env("HOOKRACK_MUTATIONS", count.to_string());
    Ok(process::run(&mut command)?)
}

//! `cargo xtask mutate`: loads damaged copies of a plugin with the host.

use super::{Profile, build};
use crate::{error::TaskError, process, report, testing, workspace::Workspace};

pub(crate) fn mutate(workspace: &Workspace, count: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("{count} damaged copies of a plugin"));
    let mut command = testing::suite(workspace, "mutations::");
    command.env("HOOKRACK_MUTATIONS", count.to_string());
    Ok(process::run(&mut command)?)
}

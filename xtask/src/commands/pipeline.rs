//! `cargo xtask pipeline`: every model under every schedule against one process, bit for bit.

use super::{Profile, build};
use crate::{error::TaskError, process, report, testing, workspace::Workspace};

pub(crate) fn pipeline(workspace: &Workspace, steps: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("2 and 4 stages over {steps} steps"));
    let mut command = testing::suite(workspace, "pipeline::");
    command.env("HOOKRACK_PIPELINE_STEPS", steps.to_string());
    Ok(process::run(&mut command)?)
}

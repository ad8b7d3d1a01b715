//! `cargo xtask soak`: runs that are killed repeatedly, each compared with an uninterrupted one.

use super::{Profile, build};
use crate::{error::TaskError, process, report, workspace::Workspace};

pub(crate) fn soak(workspace: &Workspace, kills: u64, seed: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("two runs, each killed {kills} times"));
    let mut command = process::cargo();
    command.current_dir(workspace.root()).args([
        "test",
        "--package=hookrack-tests",
        "--",
        "soak::",
    ]);
    command.arg("--nocapture");
    command.env("HOOKRACK_SOAK_KILLS", kills.to_string());
    command.env("HOOKRACK_SOAK_SEED", seed.to_string());
    Ok(process::run(&mut command)?)
}

//! `cargo xtask fuzz`: damaged inputs for every reader of external files.

use super::{Profile, build};
use crate::{error::TaskError, process, report, testing, workspace::Workspace};

/// The number of readers in `tests/suite/fuzz.rs`, which run one after the other.
const READERS: u64 = 12;

pub(crate) fn fuzz(workspace: &Workspace, minutes: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("{minutes} minutes of damaged inputs"));
    let mut command = testing::suite(workspace, "fuzz::");
    command.arg("--test-threads=1");
    command.env("HOOKRACK_FUZZ_SECONDS", (minutes * 60 / READERS).max(1).to_string());
    Ok(process::run(&mut command)?)
}

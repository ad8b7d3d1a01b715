//! `cargo xtask fuzz`: damaged inputs for every reader of external files.

use super::{Profile, build};
use crate::{error::TaskError, process, report, testing, workspace::Workspace};
use std::time::{SystemTime, UNIX_EPOCH};

/// The number of readers in `tests/suite/fuzz.rs` and `tests/suite/fuzz/`, which run one after the other.
const READERS: u64 = 20;

pub(crate) fn fuzz(
    workspace: &Workspace,
    minutes: u64,
    seed: Option<u64>,
) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    let seed = seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(1, |now| now.as_secs())
    });
    report::step(&format!("{minutes} minutes of damaged inputs, seed {seed}"));
    let mut command = testing::suite(workspace, "fuzz::");
    command.arg("--test-threads=1");
    command.env("HOOKRACK_FUZZ_SEED", seed.to_string());
    command.env("HOOKRACK_FUZZ_SECONDS", (minutes * 60 / READERS).max(1).to_string());
    Ok(process::run(&mut command)?)
}

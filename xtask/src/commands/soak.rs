//! `cargo xtask soak`: runs that are killed again and again, each compared with one that was left alone.

use std::path::PathBuf;

use super::{Profile, build};
use crate::{cli::Soak, error::TaskError, process, python_env, report, workspace::Workspace};

pub(crate) fn soak(workspace: &Workspace, args: &Soak) -> Result<(), TaskError> {
    let torchrun = if args.torchrun { Some(torchrun()?) } else { None };
    build(workspace, Profile::Dev)?;
    let (kills, ranks) = (args.kills, args.ranks);
    let tests = if ranks > 1 {
        report::step(&format!("a run on {ranks} ranks, one of which is killed {kills} times"));
        "soak_ranks::"
    } else {
        report::step(&format!("two runs, each killed {kills} times"));
        "soak::"
    };
    let mut command = process::cargo();
    command.current_dir(workspace.root());
    command.args(["test", "--package=hookrack-tests", "--", tests, "--nocapture"]);
    command.env("HOOKRACK_SOAK_KILLS", kills.to_string());
    command.env("HOOKRACK_SOAK_SEED", args.seed.to_string());
    command.env("HOOKRACK_SOAK_RANKS", ranks.to_string());
    if let Some(torchrun) = torchrun {
        command.env("HOOKRACK_SOAK_TORCHRUN", torchrun);
    }
    Ok(process::run(&mut command)?)
}

fn torchrun() -> Result<PathBuf, TaskError> {
    Ok(python_env::with_torch()?.with_file_name("torchrun"))
}

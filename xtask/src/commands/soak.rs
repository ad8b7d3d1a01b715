//! `cargo xtask soak`: runs that are killed repeatedly, each compared with an uninterrupted one.

use std::path::PathBuf;

use super::{Profile, build};
use crate::{
    cli::Soak, error::TaskError, process, python_env, report, testing, workspace::Workspace,
};

pub(crate) fn soak(workspace: &Workspace, args: &Soak) -> Result<(), TaskError> {
    let torchrun = if args.torchrun { Some(torchrun()?) } else { None };
    build(workspace, Profile::Dev)?;
    let kills = args.kills;
    let tests = if let Some(ranks) = args.ranks {
        report::step(&format!("a run on {ranks} ranks, one of which is killed {kills} times"));
        "soak_ranks::"
    } else {
        report::step(&format!("two runs, each killed {kills} times"));
        "soak::"
    };
    let mut command = testing::suite(workspace, tests);
    command.env("HOOKRACK_SOAK_KILLS", kills.to_string());
    command.env("HOOKRACK_SOAK_SEED", args.seed.to_string());
    if let Some(ranks) = args.ranks {
        command.env("HOOKRACK_SOAK_RANKS", ranks.to_string());
        command.env("HOOKRACK_SOAK_STAGES", args.stages.unwrap_or(1).to_string());
    }
    if let Some(torchrun) = torchrun {
        command.env("HOOKRACK_SOAK_TORCHRUN", torchrun);
    }
    Ok(process::run(&mut command)?)
}

fn torchrun() -> Result<PathBuf, TaskError> {
    Ok(python_env::with_torch()?.with_file_name("torchrun"))
}

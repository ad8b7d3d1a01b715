//! `cargo xtask train` and `cargo xtask run`: build, then run the host in place of xtask.

use std::{env, ffi::OsString};

use super::{Profile, build};
use crate::{error::TaskError, process, workspace::Workspace};

/// Returns only if the host could not be started: otherwise exit code and signals are those of the host. It runs in the
/// user's working directory, so that relative paths work.
pub(crate) fn hookrack(
    workspace: &Workspace,
    subcommand: Option<&str>,
    args: &[OsString],
) -> Result<(), TaskError> {
    let built = build(workspace, Profile::Dev)?;
    let mut command = process::command(built.folder.join("hookrack"));
    command.args(subcommand).args(args);
    // In a workspace the plugins are not beside the program, as they are in an installation.
    let own = env::var_os("HOOKRACK_PLUGINS").unwrap_or_default();
    let folders = env::split_paths(&own).filter(|dir| !dir.as_os_str().is_empty());
    if let Ok(folders) = env::join_paths(folders.chain([workspace.plugins()])) {
        command.env("HOOKRACK_PLUGINS", folders);
    }
    Err(process::replace_self(&mut command).into())
}

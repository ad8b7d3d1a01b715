//! `cargo xtask train` and `cargo xtask run`: build, then become the host.

use std::{env, ffi::OsString};

use super::{Profile, build};
use crate::{error::TaskError, process, workspace::Workspace};

/// Returns only if the host could not be started: otherwise exit code and signals are the host's own. It runs
/// in the user's folder, so that paths mean what they meant when they were typed.
pub(crate) fn hookrack(
    workspace: &Workspace,
    subcommand: Option<&str>,
    args: &[OsString],
) -> Result<(), TaskError> {
    let built = build(workspace, Profile::Dev)?;
    let mut command = process::command(built.folder.join("hookrack"));
    command.args(subcommand).args(args);
    // In a workspace the program does not lie beside its plugins, as it does in an installation.
    let own = env::var_os("HOOKRACK_PLUGINS").unwrap_or_default();
    let folders = env::split_paths(&own).filter(|dir| !dir.as_os_str().is_empty());
    if let Ok(folders) = env::join_paths(folders.chain([workspace.plugins()])) {
        command.env("HOOKRACK_PLUGINS", folders);
    }
    Err(process::replace_self(&mut command).into())
}

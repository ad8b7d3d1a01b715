//! `cargo xtask sanitize`: runs every loadable fixture library under valgrind.

use super::{Profile, build};
use crate::{error::TaskError, process, report, workspace::Workspace};

pub(crate) fn sanitize(workspace: &Workspace) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step("libraries under valgrind");
    let mut command = process::cargo();
    command.current_dir(workspace.root());
    command.args(["test", "--package=hookrack-tests", "--", "sanitize::", "--nocapture"]);
    command.env("HOOKRACK_SANITIZE", "1");
    Ok(process::run(&mut command)?)
}

//! `cargo xtask sanitize`: runs every loadable fixture library under valgrind.

use super::{Profile, build};
use crate::{error::TaskError, process, report, testing, workspace::Workspace};

pub(crate) fn sanitize(workspace: &Workspace) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step("libraries under valgrind");
    let mut command = testing::suite(workspace, "sanitize::");
    command.env("HOOKRACK_SANITIZE", "1");
    Ok(process::run(&mut command)?)
}

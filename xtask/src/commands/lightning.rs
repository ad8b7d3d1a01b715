//! `cargo xtask lightning`: the Lightning versions of the example plugins, run and checked.

use std::path::{Path, PathBuf};

use crate::{
    error::TaskError, metadata::Metadata, process, python_env, report, workspace::Workspace,
};

/// Runs `examples/plugins/lightning_examples.py` with a Python that has Lightning: the one that is given, or a virtual
/// environment below `target/`, created by the first call.
pub(crate) fn lightning(workspace: &Workspace, python: Option<PathBuf>) -> Result<(), TaskError> {
    let own = || python_env::with_package(&own_folder(workspace)?, "lightning");
    let python = python.map_or_else(own, Ok)?;
    report::step("running the Lightning versions of the example plugins");
    let script = workspace.root().join("examples/plugins/lightning_examples.py");
    Ok(process::run(process::command(python).arg(script))?)
}

fn own_folder(workspace: &Workspace) -> Result<PathBuf, TaskError> {
    Ok(Path::new(&Metadata::read(workspace)?.target).join("lightning"))
}

//! `cargo xtask lightning`: the Lightning versions of the example plugins, run and checked.

use std::path::PathBuf;

use crate::{error::TaskError, process, python_env, report, workspace::Workspace};

/// Runs `examples/plugins/lightning_examples.py` with a Python that has Lightning: the one that is given, or that of all
/// comparisons.
pub(crate) fn lightning(workspace: &Workspace, python: Option<PathBuf>) -> Result<(), TaskError> {
    let python = python.map_or_else(python_env::with_lightning, Ok)?;
    report::step("running the Lightning versions of the example plugins");
    let script = workspace.root().join("examples/plugins/lightning_examples.py");
    Ok(process::run(process::command(python).arg(script))?)
}

//! `cargo xtask lightning`: the Lightning versions of the example plugins, run and checked.

use std::path::Path;

use crate::{error::TaskError, metadata::Metadata, process, report, workspace::Workspace};

/// Runs `examples/plugins/lightning_examples.py` with a Python that has Lightning: the one that is given, or a virtual
/// environment below `target/`, which is made at the first call.
pub(crate) fn lightning(workspace: &Workspace, python: Option<&Path>) -> Result<(), TaskError> {
    let own = Metadata::read(workspace)?.target.join("lightning");
    let own_python = own.join("bin/python");
    if python.is_none() && !own_python.is_file() {
        report::step("making a virtual environment with Lightning");
        process::run(process::command("python3").args(["-m", "venv"]).arg(&own))?;
    }
    if python.is_none() {
        let mut pip = process::command(&own_python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "lightning"]);
        process::run(&mut pip)?;
    }
    report::step("running the Lightning versions of the example plugins");
    let script = workspace.root().join("examples/plugins/lightning_examples.py");
    let mut run = process::command(python.unwrap_or(&own_python));
    Ok(process::run(run.arg(script))?)
}

//! Virtual environments of Python: made at the first call, and used again.

use std::path::{Path, PathBuf};

use crate::{error::TaskError, libtorch, process, report};

/// A Python that has `package`, which may name its version (`torch==2.13.0`), in a virtual environment in `folder`.
pub(crate) fn with_package(folder: &Path, package: &str) -> Result<PathBuf, TaskError> {
    let python = folder.join("bin/python");
    if !python.is_file() {
        report::step(&format!("making a virtual environment in {}", folder.display()));
        process::run(process::command("python3").args(["-m", "venv"]).arg(folder))?;
    }
    report::step(&format!("making sure that it has {package}"));
    let mut pip = process::command(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]);
    process::run(&mut pip)?;
    Ok(python)
}

/// A Python with the torch of the version that the host is built with, in the user's cache: some gigabytes the first time.
pub(crate) fn with_torch() -> Result<PathBuf, TaskError> {
    let folder = libtorch::cache_folder()?.join("python");
    with_package(&folder, &format!("torch=={}", libtorch::folder::VERSION))
}

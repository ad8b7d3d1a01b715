//! The Python environment of benchmarks and comparisons, created on first use.

use std::path::{Path, PathBuf};

use crate::{error::TaskError, libtorch, process, report};

/// Ends with success if every package is installed, in the version that is named; the build (`+cpu`) may be any.
const HAS_ALL: &str = "
import importlib.metadata, sys
def has(package):
    name, _, version = package.partition('==')
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return version in ('', found.split('+')[0])
sys.exit(0 if all(map(has, sys.argv[1:])) else 1)
";

fn virtual_environment(folder: &Path) -> Result<PathBuf, TaskError> {
    let python = folder.join("bin/python");
    if !python.is_file() {
        report::step(&format!("creating a virtual environment in {}", folder.display()));
        process::run(process::command("python3").args(["-m", "venv"]).arg(folder))?;
    }
    Ok(python)
}

/// Installs packages that are not there yet; pip shows its progress.
fn install(python: &Path, packages: &[&str]) -> Result<(), TaskError> {
    if has_all(python, packages) {
        return Ok(());
    }
    report::step(&format!("installing {}", packages.join(", ")));
    let mut pip = process::command(python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check"]).args(packages);
    Ok(process::run(&mut pip)?)
}

fn has_all(python: &Path, packages: &[&str]) -> bool {
    process::output(process::command(python).args(["-c", HAS_ALL]).args(packages)).is_ok()
}

/// The peers of `cargo xtask bench --peers`, each with the packages that it needs beside torch.
const PEERS: [(&str, &[&str]); 5] = [
    ("Lightning", &[LIGHTNING]),
    ("MMEngine", &["mmengine==0.10.7"]),
    ("HF Trainer", &["transformers==5.23.0", "accelerate==1.15.0"]),
    ("Ignite", &["pytorch-ignite==0.5.5"]),
    ("JAX", &["jax==0.10.2", "optax==0.2.8"]),
];

const LIGHTNING: &str = "lightning==2.6.6";

/// A Python with the same version of torch as the host. All commands share one environment, in the user's cache: some gigabytes the
/// first time.
pub(crate) fn with_torch() -> Result<PathBuf, TaskError> {
    let python = virtual_environment(&libtorch::cache_folder()?.join("python"))?;
    install(&python, &[&format!("torch=={}", libtorch::folder::VERSION), "numpy"])?;
    Ok(python)
}

/// The same with Lightning.
pub(crate) fn with_lightning() -> Result<PathBuf, TaskError> {
    let python = with_torch()?;
    install(&python, &[LIGHTNING])?;
    Ok(python)
}

/// The same with every peer that could be installed; the others are reported.
pub(crate) fn with_peers() -> Result<PathBuf, TaskError> {
    let python = with_torch()?;
    for (name, packages) in PEERS {
        if let Err(error) = install(&python, packages) {
            report::warning(&format!("{name} is missing from the comparison: {error}"));
        }
    }
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_counts_only_in_the_version_that_is_named() {
        let place = tempfile::tempdir().unwrap();
        let info = place.path().join("some_torch-2.13.0+cpu.dist-info");
        std::fs::create_dir(&info).unwrap();
        let text = "Metadata-Version: 2.1\nName: some-torch\nVersion: 2.13.0+cpu\n";
        std::fs::write(info.join("METADATA"), text).unwrap();
        let has = |packages: &[&str]| {
            let mut command = process::command("python3");
            command.env("PYTHONPATH", place.path()).args(["-c", HAS_ALL]).args(packages);
            process::output(&mut command).is_ok()
        };
        assert!(has(&["some-torch"]) && has(&["some-torch==2.13.0"]));
        assert!(!has(&["some-torch==2.12.0"]));
        assert!(!has(&["some-torch", "a-package-that-nobody-has"]));
    }
}

//! `cargo xtask bench`: build for release, then run the benchmarks.

use std::{ffi::OsString, path::PathBuf};

use super::{Profile, build, data};
use crate::{
    cli::{Bench, DataSet},
    error::TaskError,
    metadata::Metadata,
    process, python_env,
    workspace::Workspace,
};

const PACKAGE: &str = "hookrack-bench";

pub(crate) fn bench(workspace: &Workspace, args: &Bench) -> Result<(), TaskError> {
    // Checked before minutes of building.
    let program = program(&Metadata::read(workspace)?)?;
    let only = only(workspace, args)?;
    let built = build(workspace, Profile::Release)?;
    // Not `cargo run`: selecting one package may change features and rebuild libtorch's bindings.
    let mut command = process::command(built.folder.join(program));
    command.args(&args.args).args(only);
    Err(process::replace_self(&mut command).into())
}

/// The subcommand of the benchmarks that was asked for, with the Python and the data that it needs; empty for the usual ones.
fn only(workspace: &Workspace, args: &Bench) -> Result<Vec<OsString>, TaskError> {
    if args.ranks {
        return Ok(vec!["ranks".into(), "--python".into(), python_env::with_torch()?.into()]);
    }
    if !args.peers {
        return Ok(Vec::new());
    }
    let images = images(workspace)?;
    let python = python_env::with_peers()?;
    let mut only =
        vec!["peers".into(), "--python".into(), python.into(), "--images".into(), images.into()];
    if let Some(models) = &args.models {
        only.extend(["--models".into(), models.into()]);
    }
    if let Some(rounds) = args.rounds {
        only.extend(["--rounds".into(), rounds.to_string().into()]);
    }
    if let Some(out) = &args.out {
        only.extend(["--out".into(), out.into()]);
    }
    Ok(only)
}

/// Fashion-MNIST where it is installed, else MNIST, whose images have the same shape.
fn images(workspace: &Workspace) -> Result<PathBuf, TaskError> {
    let installed = PathBuf::from(data::FASHION_MNIST);
    if installed.is_dir() {
        return Ok(installed);
    }
    data::data(workspace, DataSet::Mnist)?;
    Ok(workspace.root().join("data/mnist"))
}

fn program(metadata: &Metadata) -> Result<String, TaskError> {
    metadata
        .package(PACKAGE)
        .and_then(|package| package.programs.first().cloned())
        .ok_or(TaskError::NoPackage { package: PACKAGE, folder: "bench" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_without_benchmarks_says_where_they_are_expected() {
        let metadata = Metadata::parse(r#"{"target_directory": "/w", "packages": []}"#).unwrap();
        let text = program(&metadata).unwrap_err().to_string();
        assert!(text.starts_with("package `hookrack-bench` is not in the workspace"), "{text}");
        assert!(text.contains("`bench/`"), "{text}");
    }
}

//! `cargo xtask bench`: build for release, then become the benchmarks.

use super::{Profile, build};
use crate::{
    cli::Bench, error::TaskError, metadata::Metadata, process, python_env, workspace::Workspace,
};

const PACKAGE: &str = "hookrack-bench";

pub(crate) fn bench(workspace: &Workspace, args: &Bench) -> Result<(), TaskError> {
    // Before minutes of building.
    let program = program(&Metadata::read(workspace)?)?;
    let python = if args.ranks { Some(python_env::with_torch()?) } else { None };
    let built = build(workspace, Profile::Release)?;
    // Not `cargo run`: choosing one package may choose other features, and build libtorch's bindings again.
    let mut command = process::command(built.folder.join(program));
    command.args(&args.args);
    if let Some(python) = python {
        command.args(["ranks", "--python"]).arg(python);
    }
    Err(process::replace_self(&mut command).into())
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

//! `cargo metadata`: the target folder, the packages and what they build.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{
    process::{self, ProcessError},
    workspace::Workspace,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum MetadataError {
    #[error("could not run `cargo metadata`")]
    Cargo { source: ProcessError },
    #[error("could not parse the output of `cargo metadata`")]
    Json { source: serde_json::Error },
    #[error("the output of `cargo metadata` has no `{field}`; is this a newer cargo?")]
    Field { field: &'static str },
}

#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The folder of its Cargo.toml.
    pub(crate) folder: PathBuf,
    /// The name of its library, if it is a `cdylib`.
    pub(crate) cdylib: Option<String>,
    /// The names of its programs.
    pub(crate) programs: Vec<String>,
}

impl Metadata {
    pub(crate) fn read(workspace: &Workspace) -> Result<Self, MetadataError> {
        let mut command = process::cargo();
        command.current_dir(workspace.root()).args(["metadata", "--format-version=1", "--no-deps"]);
        let text =
            process::output(&mut command).map_err(|source| MetadataError::Cargo { source })?;
        Self::parse(&text)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, MetadataError> {
        let value: Value =
            serde_json::from_str(text).map_err(|source| MetadataError::Json { source })?;
        let target = string(&value, "target_directory")?.into();
        let packages = list(&value, "packages")?.iter().map(package).collect::<Result<_, _>>()?;
        Ok(Self { target, packages })
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }
}

fn package(value: &Value) -> Result<Package, MetadataError> {
    let manifest = Path::new(string(value, "manifest_path")?);
    let mut package = Package {
        name: string(value, "name")?.to_owned(),
        version: string(value, "version")?.to_owned(),
        folder: manifest.parent().unwrap_or(manifest).to_owned(),
        cdylib: None,
        programs: Vec::new(),
    };
    for target in list(value, "targets")? {
        let kinds = list(target, "kind")?;
        let name = string(target, "name")?.to_owned();
        if kinds.iter().any(|kind| kind == "cdylib") {
            package.cdylib = Some(name);
        } else if kinds.iter().any(|kind| kind == "bin") {
            package.programs.push(name);
        }
    }
    Ok(package)
}

fn string<'v>(value: &'v Value, field: &'static str) -> Result<&'v str, MetadataError> {
    value.get(field).and_then(Value::as_str).ok_or(MetadataError::Field { field })
}

fn list<'v>(value: &'v Value, field: &'static str) -> Result<&'v Vec<Value>, MetadataError> {
    value.get(field).and_then(Value::as_array).ok_or(MetadataError::Field { field })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
        "target_directory": "/w/target",
        "packages": [
            {"name": "hookrack", "version": "0.1.0", "manifest_path": "/w/host/Cargo.toml", "targets": [
                {"name": "hookrack", "kind": ["lib"]}, {"name": "hookrack", "kind": ["bin"]}]},
            {"name": "hookrack-ema", "version": "0.1.0", "manifest_path": "/w/plugins/ema/Cargo.toml", "targets": [
                {"name": "hookrack_ema", "kind": ["cdylib", "rlib"]}]}
        ]
    }"#;

    #[test]
    fn packages_programs_and_shared_libraries_are_read() {
        let metadata = Metadata::parse(TEXT).unwrap();
        assert_eq!(metadata.target, Path::new("/w/target"));
        assert_eq!(metadata.package("hookrack").unwrap().programs, ["hookrack"]);
        let ema = metadata.package("hookrack-ema").unwrap();
        assert_eq!(ema.cdylib.as_deref(), Some("hookrack_ema"));
        assert_eq!(ema.folder, Path::new("/w/plugins/ema"));
        assert!(metadata.package("nobody").is_none());
    }

    #[test]
    fn a_missing_field_is_named() {
        let text = Metadata::parse(r#"{"packages": []}"#).unwrap_err().to_string();
        assert!(text.contains("has no `target_directory`"), "{text}");
    }
}

//! Finds the bundled plugins and puts their libraries into `plugins/`.

use std::path::{Path, PathBuf};

use crate::{
    compiler,
    error::TaskError,
    files::{self, FileError},
    metadata::Metadata,
    process, report,
    workspace::Workspace,
};

/// A plugin in C: one folder of `.c` files.
#[derive(Debug, PartialEq, Eq)]
struct CPlugin {
    folder: String,
    sources: Vec<PathBuf>,
}

/// Puts every bundled plugin's library into `plugins/` and returns their paths there; `built` is where cargo
/// left those in Rust. Other libraries in that folder are the user's and stay.
pub(crate) fn place(
    workspace: &Workspace,
    metadata: &Metadata,
    built: &Path,
) -> Result<Vec<PathBuf>, TaskError> {
    let folder = workspace.plugins();
    let mut placed = Vec::new();
    let mut news = Vec::new();
    for name in in_rust(metadata, &folder) {
        let file = cargo_file_name(&name);
        if files::copy_if_different(&built.join(&file), &folder.join(&file))? {
            news.push(file.clone());
        }
        placed.push(folder.join(file));
    }
    for plugin in in_c(&folder)? {
        let file = c_file_name(&plugin);
        if compile(workspace, &plugin)? {
            news.push(file.clone());
        }
        placed.push(folder.join(file));
    }
    let news = if news.is_empty() { "none changed".to_owned() } else { news.join(", ") + " new" };
    report::note(&format!("bundled plugins in plugins/: {}, {news}", placed.len()));
    Ok(placed)
}

/// The libraries of the workspace's packages directly under `plugins/`.
fn in_rust(metadata: &Metadata, plugins: &Path) -> Vec<String> {
    let bundled = metadata.packages.iter().filter(|p| p.folder.parent() == Some(plugins));
    bundled.filter_map(|package| package.cdylib.clone()).collect()
}

/// The folders directly under `plugins/` with C sources and no Cargo.toml.
fn in_c(plugins: &Path) -> Result<Vec<CPlugin>, FileError> {
    let mut found = Vec::new();
    for folder in files::sorted_entries(plugins)? {
        if !folder.is_dir() || folder.join("Cargo.toml").exists() {
            continue;
        }
        let mut sources = files::sorted_entries(&folder)?;
        sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
        if !sources.is_empty() {
            let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push(CPlugin { folder, sources });
        }
    }
    Ok(found)
}

fn cargo_file_name(library: &str) -> String {
    format!("lib{}.so", library.replace('-', "_"))
}

fn c_file_name(plugin: &CPlugin) -> String {
    format!("lib{}.so", plugin.folder)
}

/// Returns whether the library changed.
fn compile(workspace: &Workspace, plugin: &CPlugin) -> Result<bool, TaskError> {
    let library = workspace.plugins().join(c_file_name(plugin));
    let fresh = files::sibling(&library, "c");
    let mut command = compiler::c()?;
    command.current_dir(workspace.root());
    command.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I"]);
    command.arg(workspace.c_headers()).arg("-o").arg(&fresh).args(&plugin.sources).arg("-lm");
    let changed = process::run(&mut command)
        .map_err(TaskError::from)
        .and_then(|()| Ok(files::copy_if_different(&fresh, &library)?));
    files::remove(&fresh)?;
    changed
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn metadata(packages: &str) -> Metadata {
        Metadata::parse(&format!(
            r#"{{"target_directory": "/w/target", "packages": [{packages}]}}"#
        ))
        .unwrap()
    }

    fn package(name: &str, folder: &str, kind: &str) -> String {
        format!(
            r#"{{"name": "{name}", "version": "0.1.0", "manifest_path": "{folder}/Cargo.toml",
                "targets": [{{"name": "{name}", "kind": ["{kind}"]}}]}}"#
        )
    }

    #[test]
    fn a_workspace_without_plugins_has_none() {
        assert!(in_rust(&metadata(""), Path::new("/w/plugins")).is_empty());
        assert!(in_c(Path::new("/nowhere/plugins")).unwrap().is_empty());
    }

    #[test]
    fn only_shared_libraries_directly_under_plugins_count() {
        let packages = [
            package("ema", "/w/plugins/ema", "cdylib"),
            package("notes", "/w/plugins/notes", "lib"),
            package("inner", "/w/plugins/ema/inner", "cdylib"),
            package("fixture", "/w/tests/fixtures/bad", "cdylib"),
        ];
        assert_eq!(in_rust(&metadata(&packages.join(",")), Path::new("/w/plugins")), ["ema"]);
    }

    #[test]
    fn a_folder_with_c_sources_and_no_manifest_is_a_plugin_in_c() {
        let plugins = tempfile::tempdir().unwrap();
        for file in [
            "clip/clip.c",
            "clip/more.c",
            "clip/clip.h",
            "ema/Cargo.toml",
            "ema/shim.c",
            "doc/a.md",
        ] {
            let path = plugins.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let sources = ["clip/clip.c", "clip/more.c"].map(|file| plugins.path().join(file)).to_vec();
        let expected = CPlugin { folder: "clip".to_owned(), sources };
        assert_eq!(in_c(plugins.path()).unwrap(), [expected]);
    }

    #[test]
    fn a_library_is_named_as_cargo_names_it() {
        assert_eq!(cargo_file_name("grad-clip"), "libgrad_clip.so");
    }
}

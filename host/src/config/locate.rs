//! Finds plugin folders and libraries on disk.

use std::path::{Path, PathBuf};

use super::check::{Checker, has_variable};
use super::error::{ConfigError, ConfigErrors};
use super::nearest::nearest;
use super::origin::Origin;
use super::read::{clean, shorten};
use super::tree::{Item, Node};

/// The plugin folders that a checked `plugins.dirs` names, absolute.
///
/// A relative folder is looked for beside the config that names it, then in the current directory:
/// configs in a folder of their own share the `plugins/` of the project. The folder that nobody named
/// need not exist.
pub(super) fn plugin_dirs(dirs: &Node, checker: &mut Checker<'_>) -> Vec<(PathBuf, Origin)> {
    let mut found = Vec::new();
    for node in dirs.as_list().unwrap_or_default() {
        let Some(written) = node.as_str() else { continue };
        match plugin_dir(written, &node.origin, checker.current) {
            Ok(dir) => found.extend(dir.map(|dir| (dir, node.origin.clone()))),
            Err(error) => checker.errors.push(error),
        }
    }
    found
}

fn plugin_dir(written: &str, at: &Origin, current: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let at = at.clone();
    let key = "plugins.dirs".to_owned();
    if written.is_empty() {
        return Err(ConfigError::EmptyPath { at, key });
    }
    if has_variable(written) {
        return Err(ConfigError::VariableInPath { at, key });
    }
    let beside = at.document().map_or(current, |document| &document.dir);
    let mut candidates = vec![clean(&beside.join(written)), clean(&current.join(written))];
    candidates.dedup();
    if let Some(dir) = candidates.iter().find(|dir| dir.is_dir()) {
        return Ok(Some(dir.clone()));
    }
    let dir = written.to_owned();
    match &at {
        Origin::Default => Ok(None),
        Origin::Written { .. } if candidates.iter().any(|path| path.exists()) => {
            Err(ConfigError::PluginDirNotFolder { at, dir })
        }
        Origin::Written { .. } => {
            let tried = candidates.iter().map(|dir| shorten(dir, current)).collect();
            Err(ConfigError::PluginDirMissing { at, dir, tried })
        }
    }
}

/// The library that a `library =` names: a bare file name is looked for in the plugin folders,
/// anything with a `/` is a path.
pub(super) fn library(
    written: &str,
    at: &Origin,
    dirs: &[PathBuf],
    current: &Path,
) -> Result<PathBuf, ConfigError> {
    let beside = at.document().map_or(current, |document| &document.dir);
    let is_path = written.contains('/');
    let candidates: Vec<_> = if is_path {
        vec![clean(&beside.join(written))]
    } else {
        dirs.iter().map(|dir| dir.join(written)).collect()
    };
    if let Some(path) = candidates.iter().find(|path| path.is_file()) {
        return Ok(path.clone());
    }
    let folders: Vec<&Path> = candidates.iter().filter_map(|path| path.parent()).collect();
    let files: Vec<_> = folders.iter().flat_map(|dir| libraries_in(dir)).collect();
    let file_name = Path::new(written).file_name().unwrap_or_default().to_string_lossy();
    Err(ConfigError::LibraryMissing {
        at: at.clone(),
        library: written.to_owned(),
        searched: folders.iter().map(|dir| shorten(dir, current)).collect(),
        nearest: nearest(&file_name, files.iter().map(String::as_str)).map(str::to_owned),
    })
}

fn libraries_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = dir.read_dir() else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_library = |name: &String| {
        Path::new(name)
            .extension()
            .is_some_and(|extension| extension == "so" || extension == "dylib")
    };
    let mut names: Vec<_> = names.filter(is_library).collect();
    names.sort();
    names
}

/// Every library that an entry of `lists` names by `library =`.
pub(super) fn named_libraries<'a>(
    entries: impl Iterator<Item = &'a Node>,
    dirs: &[PathBuf],
    current: &Path,
) -> Result<Vec<PathBuf>, ConfigErrors> {
    let mut errors = ConfigErrors::default();
    let mut found = Vec::new();
    for entry in entries {
        let Some(node) = entry.as_table().and_then(|table| table.node("library")) else { continue };
        let Item::Str(written) = &node.item else { continue };
        match library(written, &node.origin, dirs, current) {
            Ok(path) if !found.contains(&path) => found.push(path),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    errors.or(Some(found))
}

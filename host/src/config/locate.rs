//! Finds plugin folders and libraries on disk.

use std::path::{Path, PathBuf};

use super::check::{Checker, has_variable};
use super::error::{ConfigError, ConfigErrors, Fault};
use super::origin::Origin;
use super::read::{clean, shorten};
use super::tree::{Item, Node, Table};
use hookrack_plugin_api::name::nearest;

/// A folder that is searched for libraries.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    /// Its path, absolute.
    pub(super) path: PathBuf,
    /// Where it was written.
    pub(super) origin: Origin,
    /// Whether it exists.
    pub(super) exists: bool,
    /// Whether it was found in the current directory, because there is none beside the config.
    pub(super) is_of_current: bool,
}

/// The folders that are searched for libraries, as absolute paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Folders {
    /// Those of `plugins.dirs`.
    pub(super) dirs: Vec<Folder>,
    /// Those of `plugins.search`.
    pub(super) search: Vec<Folder>,
    /// The keys of `[plugins]` about which libraries may run, with defaults filled in.
    pub(super) trust: Table,
}

impl Folders {
    /// All of them, in the order in which they are searched.
    pub(super) fn all(&self) -> impl Iterator<Item = &Folder> {
        self.dirs.iter().chain(&self.search)
    }

    /// Those that exist.
    pub(super) fn present(&self) -> Vec<PathBuf> {
        self.all().filter(|folder| folder.exists).map(|folder| folder.path.clone()).collect()
    }

    /// `[plugins]` with defaults filled in. A default folder of `dirs` that does not exist is omitted: one that is
    /// written in a config must exist.
    pub(super) fn section(&self) -> Table {
        let mut table = Table::default();
        let dirs: Vec<&Folder> = self.dirs.iter().filter(|folder| folder.exists).collect();
        for (key, folders) in [("dirs", dirs), ("search", self.search.iter().collect())] {
            let node = |folder: &Folder| {
                Node::str(folder.path.display().to_string(), folder.origin.clone())
            };
            let at = folders.first().map_or(Origin::Default, |folder| folder.origin.clone());
            let item = Item::List(folders.into_iter().map(node).collect());
            table.push_node(key, Node { item, origin: at });
        }
        table.entries.extend(self.trust.entries.iter().cloned());
        table
    }

    /// The list of searched folders in a message.
    pub(super) fn searched(&self) -> Vec<String> {
        let absent = |folder: &Folder| if folder.exists { "" } else { " (no such folder)" };
        self.all().map(|folder| format!("{}{}", folder.path.display(), absent(folder))).collect()
    }
}

/// The folders that a checked `plugins.dirs` names.
///
/// A relative folder is searched for beside the config that names it, then in the current directory:
/// configs in a folder of their own share the `plugins/` of the project. The default folder, which
/// no config names, belongs to the config itself and need not exist.
pub(super) fn plugin_dirs(dirs: &Node, config: &Path, checker: &mut Checker<'_>) -> Vec<Folder> {
    let mut found = Vec::new();
    for node in dirs.as_list().unwrap_or_default() {
        let Some(written) = node.as_str() else { continue };
        match plugin_dir(written, &node.origin, config, checker.current) {
            Ok(folder) => found.push(folder),
            Err(error) => checker.errors.push(error),
        }
    }
    found
}

/// The folders that are searched after those of the config: those of a checked `plugins.search`, otherwise those of the
/// machine.
pub(super) fn search(written: Option<&Node>, machine: &[PathBuf]) -> Vec<Folder> {
    let folder = |path: PathBuf, origin: &Origin| {
        let exists = path.is_dir();
        Folder { path, origin: origin.clone(), exists, is_of_current: false }
    };
    let Some(nodes) = written.and_then(Node::as_list) else {
        return machine.iter().map(|path| folder(path.clone(), &Origin::Default)).collect();
    };
    nodes.iter().filter_map(|node| Some(folder(node.as_str()?.into(), &node.origin))).collect()
}

/// The keys of a checked `[plugins]` about which libraries may run. A lock file is named if it exists, so that the
/// resolved config, which is in another folder, names the same file.
pub(super) fn trust(plugins: &Table, default_lock: &Path, checker: &mut Checker<'_>) -> Table {
    let mut table = Table::default();
    let lock = plugins.node("lock").cloned().or_else(|| {
        let path = default_lock.display().to_string();
        default_lock.exists().then(|| Node::str(path, Origin::Default))
    });
    let keys = plugins.node("trusted_keys").cloned().unwrap_or_else(no_entries);
    let has_keys = keys.as_list().is_some_and(|keys| !keys.is_empty());
    let usual = if lock.is_some() || has_keys { "warn" } else { "off" };
    let policy = plugins.node("policy").cloned();
    table.push_node("policy", policy.unwrap_or_else(|| Node::str(usual, Origin::Default)));
    let mut folders = plugins.node("folders").cloned().unwrap_or_else(no_entries);
    if let Item::List(entries) = &mut folders.item {
        for entry in entries {
            place_folder(entry, checker);
        }
    }
    table.push_node("folders", folders);
    if let Some(lock) = lock {
        table.push_node("lock", lock);
    }
    table.push_node("trusted_keys", keys);
    table
}

fn no_entries() -> Node {
    Node { item: Item::List(Vec::new()), origin: Origin::Default }
}

/// Makes the `dir` of an entry of `plugins.folders` absolute.
fn place_folder(entry: &mut Node, checker: &mut Checker<'_>) {
    let Item::Table(table) = &mut entry.item else { return };
    for field in table.entries.iter_mut().filter(|field| field.key == "dir") {
        let Some(written) = field.node.as_str() else { continue };
        // Always written, so that it is beside its own config.
        match plugin_dir(written, &field.node.origin, checker.current, checker.current) {
            Ok(folder) => {
                let path = folder.path.display().to_string();
                field.node = Node::str(path, field.node.origin.clone());
            }
            Err(error) => checker.errors.push(error),
        }
    }
}

fn plugin_dir(
    written: &str,
    at: &Origin,
    config: &Path,
    current: &Path,
) -> Result<Folder, ConfigError> {
    let key = "plugins.dirs".to_owned();
    if written.is_empty() {
        return Err(ConfigError::at(at, Fault::EmptyPath { key }));
    }
    if has_variable(written) {
        return Err(ConfigError::at(at, Fault::VariableInPath { key }));
    }
    let beside = at.document().map_or(config, |document| &document.dir);
    let mut candidates = vec![clean(&beside.join(written)), clean(&current.join(written))];
    candidates.dedup();
    if let Some(index) = candidates.iter().position(|dir| dir.is_dir()) {
        let (path, is_of_current) = (candidates.swap_remove(index), index > 0);
        return Ok(Folder { path, origin: at.clone(), exists: true, is_of_current });
    }
    let dir = written.to_owned();
    match at {
        Origin::Default => {
            let path = clean(&beside.join(written));
            Ok(Folder { path, origin: Origin::Default, exists: false, is_of_current: false })
        }
        Origin::Written { .. } if candidates.iter().any(|path| path.exists()) => {
            Err(ConfigError::at(at, Fault::PluginDirNotFolder { dir }))
        }
        Origin::Written { .. } => {
            let tried = candidates.iter().map(|dir| shorten(dir, current)).collect();
            Err(ConfigError::at(at, Fault::PluginDirMissing { dir, tried }))
        }
    }
}

/// The library that a `library =` names: a bare file name is searched for in the plugin folders,
/// anything with a `/` is a path.
pub(super) fn library(
    written: &str,
    at: &Origin,
    plugins: &Folders,
    current: &Path,
) -> Result<PathBuf, ConfigError> {
    let beside = at.document().map_or(current, |document| &document.dir);
    let is_path = written.contains('/');
    let candidates: Vec<_> = if is_path {
        vec![clean(&beside.join(written))]
    } else {
        plugins.present().iter().map(|dir| dir.join(written)).collect()
    };
    // The loader checks what the path points to, even a folder.
    let is_there = |path: &&PathBuf| path.is_file() || (is_path && path.exists());
    if let Some(path) = candidates.iter().find(is_there) {
        return Ok(path.clone());
    }
    let folders: Vec<&Path> = candidates.iter().filter_map(|path| path.parent()).collect();
    let files: Vec<_> = folders.iter().flat_map(|dir| libraries_in(dir)).collect();
    let file_name = Path::new(written).file_name().unwrap_or_default().to_string_lossy();
    Err(ConfigError::at(
        at,
        Fault::LibraryMissing {
            library: written.to_owned(),
            searched: if is_path {
                folders.iter().map(|dir| dir.display().to_string()).collect()
            } else {
                plugins.searched()
            },
            nearest: nearest(&file_name, files.iter().map(String::as_str)).map(str::to_owned),
        },
    ))
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
    plugins: &Folders,
    current: &Path,
) -> Result<Vec<PathBuf>, ConfigErrors> {
    let mut errors = ConfigErrors::default();
    let mut found = Vec::new();
    for entry in entries {
        let Some(node) = entry.as_table().and_then(|table| table.node("library")) else { continue };
        let Item::Str(written) = &node.item else { continue };
        match library(written, &node.origin, plugins, current) {
            Ok(path) if !found.contains(&path) => found.push(path),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
    }
    errors.or(Some(found))
}

//! `ConfigFile`: what the user wrote, with bases and overrides merged.

use std::path::{Path, PathBuf};

use super::catalog::Catalog;
use super::check::{Checker, Scope};
use super::error::{ConfigError, ConfigErrors, Fault};
use super::fixed;
use super::inherit::Reader;
use super::locate::{self, Folder, Folders};
use super::merge::check_deletes;
use super::origin::Origin;
use super::overrides;
use super::read::physical;
use super::resolve;
use super::resolved::ResolvedConfig;
use super::sections::{FolderPolicy, PluginsSection, TrustPolicy};
use super::tree::{Node, Table};
use crate::installation;
use hookrack_plugin_api::from_value;

/// A config as written, not yet checked against the descriptions.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    pub(super) root: Table,
    /// The file as a whole.
    pub(super) origin: Origin,
    /// Paths of overrides and defaults start here.
    pub(super) current: PathBuf,
    /// The name of the file without folder and extension.
    pub(super) stem: String,
    /// The plugin folders that this machine adds.
    search: Vec<PathBuf>,
}

/// The existing folders with plugin libraries, as absolute paths.
#[derive(Clone, Debug, Default)]
pub struct PluginFolders {
    /// Those of `plugins.dirs`.
    pub dirs: Vec<PathBuf>,
    /// Those searched in turn for what the others do not have.
    pub search: Vec<PathBuf>,
    /// What is required of their libraries.
    pub trust: PluginTrust,
}

/// What a config requires of libraries before they run.
#[derive(Clone, Debug, Default)]
pub struct PluginTrust {
    /// What happens to a library that is not verified.
    pub policy: TrustPolicy,
    /// The same for single folders.
    pub folders: Vec<FolderPolicy>,
    /// The lock file, which need not exist.
    pub lock: PathBuf,
    /// Files with the trusted public keys.
    pub trusted_keys: Vec<PathBuf>,
}

impl ConfigFile {
    /// The default name of the lock file beside a config.
    pub const LOCK: &str = "plugins.lock";

    /// Reads a file, its bases and the overrides (`train.batch_size=32`) of the command line. Plugins are searched for in
    /// the folders of this machine too, unless the config sets `plugins.search`.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ConfigErrors> {
        let file = Self::load_in(Path::new("."), path, overrides)?;
        Ok(Self { search: installation::plugin_folders(), ..file })
    }

    /// The same with `current` as the working directory, on a machine without plugin folders of its own.
    pub fn load_in(
        current: &Path,
        path: &Path,
        overrides: &[String],
    ) -> Result<Self, ConfigErrors> {
        let shown = path.display().to_string();
        let unreadable = |why| ConfigError::from(Fault::unreadable(&shown, &why));
        let current = current.canonicalize().map_err(unreadable)?;
        let physical = physical(&current.join(path)).map_err(unreadable)?;
        let mut reader = Reader::new();
        let tree = reader.load(&physical, &shown)?;
        let tree = overrides::apply(tree, overrides, &current, reader.read)?;
        let mut errors = ConfigErrors::default();
        check_deletes(&tree, "the file", &mut errors);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let origin = tree.origin.clone();
        let file = tree.as_table().cloned().map(|root| Self {
            root,
            origin,
            current,
            stem,
            search: Vec::new(),
        });
        errors.or(file)
    }

    /// The folders to search for plugin libraries.
    pub fn plugin_folders(&self) -> Result<PluginFolders, ConfigErrors> {
        let folders = self.folders()?;
        let trust = self.trust(&folders)?;
        let Folders { dirs, search, .. } = folders;
        if let Some(folder) = dirs.iter().find(|folder| is_chance(folder, &trust)) {
            let at = self.root.node("plugins").map_or(&self.origin, |node| &node.origin);
            let why = format!(
                "{} is in the current directory, not beside the config, and the policy is \"require\"",
                folder.path.display()
            );
            let help = "name the folder in `plugins.dirs` by a path that does not depend on where hookrack is started";
            let (key, help) = ("plugins.dirs".to_owned(), help.to_owned());
            return Err(ConfigError::at(at, Fault::Refused { key, why, help }).into());
        }
        for folder in dirs.iter().filter(|folder| folder.is_of_current) {
            let path = folder.path.display();
            tracing::info!(
                "plugins are loaded from the current directory, {path}: there is no such folder beside the config"
            );
        }
        let present = |folders: Vec<Folder>| {
            folders.into_iter().filter(|folder| folder.exists).map(|folder| folder.path).collect()
        };
        Ok(PluginFolders { dirs: present(dirs), search: present(search), trust })
    }

    /// The folder of the config.
    fn beside(&self) -> &PathBuf {
        self.origin.document().map_or(&self.current, |document| &document.dir)
    }

    fn trust(&self, folders: &Folders) -> Result<PluginTrust, ConfigErrors> {
        let section: Result<PluginsSection, _> = from_value(folders.section().to_value());
        let section = section.map_err(|why| {
            ConfigError::at(&self.origin, Fault::unreadable_section("plugins", &why))
        })?;
        let lock = section.lock.unwrap_or_else(|| self.default_lock());
        let (policy, folders) = (*section.policy, section.folders);
        Ok(PluginTrust { policy, folders, lock, trusted_keys: section.trusted_keys })
    }

    fn default_lock(&self) -> PathBuf {
        self.beside().join(Self::LOCK)
    }

    fn folders(&self) -> Result<Folders, ConfigErrors> {
        let mut checker = Checker::new(&self.current);
        let folders = self.checked_folders(&mut checker);
        checker.errors.or(Some(folders))
    }

    /// The existing libraries that hooks and metrics name by `library =`, as absolute paths.
    pub fn libraries(&self) -> Result<Vec<PathBuf>, ConfigErrors> {
        let plugins = self.folders()?;
        let lists = ["custom_hooks", "metrics"].into_iter().filter_map(|key| self.root.node(key));
        let listed = lists.filter_map(Node::as_list).flatten();
        let default_hooks = self.root.node("default_hooks").and_then(Node::as_table);
        let keyed = default_hooks.into_iter().flat_map(|table| &table.entries);
        let entries = listed.chain(keyed.map(|entry| &entry.node));
        locate::named_libraries(entries, &plugins, &self.current)
    }

    /// Checks everything against the catalogue and fills in every default.
    pub fn resolve(&self, catalog: &Catalog) -> Result<ResolvedConfig, ConfigErrors> {
        resolve::resolve(self, catalog)
    }

    /// `[plugins]` is checked before the catalogue exists: the catalogue needs it.
    pub(super) fn checked_folders(&self, checker: &mut Checker<'_>) -> Folders {
        let empty = Table::default();
        let scope = Scope::section("plugins");
        let (table, at) = match self.root.node("plugins") {
            None => (&empty, &self.origin),
            Some(node) => {
                let Some(table) = node.as_table() else {
                    checker.wrong_type(node, "plugins", "a table".into());
                    return Folders::default();
                };
                (table, &node.origin)
            }
        };
        let plugins = checker.table(table, at, &fixed::plugins_params(), &scope);
        let dirs =
            plugins.node("dirs").map(|dirs| locate::plugin_dirs(dirs, self.beside(), checker));
        let search = locate::search(plugins.node("search"), &self.search);
        let trust = locate::trust(&plugins, &self.default_lock(), checker);
        Folders { dirs: dirs.unwrap_or_default(), search, trust }
    }
}

/// Whether a folder was found only because of the current directory, although its libraries must be verified.
fn is_chance(folder: &Folder, trust: &PluginTrust) -> bool {
    let own = trust.folders.iter().find(|own| own.dir == folder.path);
    let policy = own.map_or(trust.policy, |own| own.policy);
    folder.exists && folder.is_of_current && policy == TrustPolicy::Require
}

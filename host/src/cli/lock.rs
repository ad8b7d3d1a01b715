//! `hookrack lock`: records the sha256 of libraries.

use super::exit::Failure;
use super::plugins::usual_folders;
use crate::config::{ConfigFile, PluginFolders, ResolvedConfig};
use crate::inventory::Inventory;
use crate::plugins::trust::{Change, LockFile, TARGET, Trust};
use crate::plugins::{LoadError, PluginFile};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Write plugins.lock: sha256, version and ABI of each library that a config uses
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack lock configs/quickstart.toml     the libraries that this config uses, to its lock file
  hookrack lock                             every library of the plugin folders, to ./plugins.lock

Entries of other libraries and targets are kept. Every run checks its libraries against the file: docs/security.md."))]
pub(super) struct LockArgs {
    /// The config file; without one, every library in the plugin folders is locked
    config: Option<PathBuf>,

    /// Override a value of the config, such as plugins.dirs (repeatable)
    #[arg(short, long = "set", value_name = "KEY=VALUE", requires = "config")]
    set: Vec<String>,
}

pub(super) fn run(args: &LockArgs) -> Result<ExitCode, Failure> {
    let (lock, libraries) = match &args.config {
        None => (PathBuf::from(ConfigFile::LOCK), found()?),
        Some(config) => used(config, &args.set)?,
    };
    if libraries.is_empty() {
        say!("no libraries to lock");
        return Ok(ExitCode::SUCCESS);
    }
    let mut file = LockFile::read(&lock).map_err(Failure::usage)?;
    for library in &libraries {
        let about = &library.about;
        let what = match file.enter(about) {
            Change::Added => "added",
            Change::Replaced => "changed",
            Change::Kept => "unchanged",
        };
        let info = &about.info;
        say!("{}  {} {}, {}  {what}", about.file_name(), info.name, info.version, about.sha256);
    }
    file.write().map_err(|error| Failure::could_not_write(&lock, &error))?;
    say!("{} has {} for {TARGET}", lock.display(), count(libraries.len()));
    Ok(ExitCode::SUCCESS)
}

fn count(libraries: usize) -> String {
    if libraries == 1 { "1 library".to_owned() } else { format!("{libraries} libraries") }
}

/// Locking is what verifies a library: it only needs to be loadable here, and in a folder that the machine allows.
fn take(folders: &PluginFolders, named: &[PathBuf]) -> Result<Inventory, Failure> {
    Inventory::with(folders, named, &Trust::of_folders()).map_err(Failure::usage)
}

fn found() -> Result<Vec<Arc<PluginFile>>, Failure> {
    let inventory = take(&usual_folders(), &[])?;
    for (_, error) in &inventory.plugin_set.failed {
        tracing::warn!("{error}; not locked");
    }
    Ok(inventory.plugin_set.libraries.clone())
}

type Used = (PathBuf, Vec<Arc<PluginFile>>);

fn used(config: &Path, set: &[String]) -> Result<Used, Failure> {
    let file = ConfigFile::load(config, set)?;
    let (folders, named) = (file.plugin_folders()?, file.libraries()?);
    let lock = folders.trust.lock.clone();
    let mut inventory = take(&folders, &named)?;
    let failed = &mut inventory.plugin_set.failed;
    if let Some(at) = failed.iter().position(|(path, _)| named.contains(path)) {
        let error: LoadError = failed.swap_remove(at).1;
        return Err(error.into());
    }
    let resolved = file.resolve(&inventory.catalog)?;
    let is_used = |library: &&Arc<PluginFile>| uses(&resolved, &library.about.path);
    let libraries = inventory.plugin_set.libraries.iter().filter(is_used).cloned().collect();
    Ok((lock, libraries))
}

fn uses(config: &ResolvedConfig, library: &Path) -> bool {
    let hooks = config.hooks.iter().map(|hook| hook.library.as_deref());
    let metrics = config.metrics.iter().map(|metric| metric.library.as_deref());
    hooks.chain(metrics).any(|named| named == Some(library))
}

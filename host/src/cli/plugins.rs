//! `hookrack plugins`: what is in the plugin folders, and what would not load.

use super::exit::Failure;
use crate::config::{ConfigFile, PluginFolders, PluginTrust, TrustPolicy};
use crate::installation;
use crate::inventory::Inventory;
use crate::plugins::{PluginFile, PluginSet, probe};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// List the libraries in the plugin folders, and why a library could not be loaded
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack plugins
  hookrack plugins configs/quickstart.toml       its folders, lock file, keys and policy
  hookrack plugins --dir plugins --dir ~/my-plugins
  hookrack plugins --retry                       probe quarantined libraries again
  hookrack plugins --json
  hookrack plugins --markdown > hooks.md"))]
pub(super) struct PluginsArgs {
    /// Config whose plugin folders are listed, checked against its lock file, trusted keys and policy
    config: Option<PathBuf>,

    /// Override a value of the config, such as plugins.dirs (repeatable)
    #[arg(short, long = "set", value_name = "KEY=VALUE", requires = "config")]
    set: Vec<String>,

    /// Folder to search instead of ./plugins, HOOKRACK_PLUGINS and the installation's folder (repeatable)
    #[arg(long, value_name = "DIR", conflicts_with = "config")]
    dir: Vec<PathBuf>,

    /// Probe every library again, including those that crashed or hung last time
    #[arg(long)]
    retry: bool,

    /// Print one JSON object for each file: state, reason, name, version, ABI, sha256, signer, hooks, metrics
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print every hook and metric, built in or from these folders, as a Markdown page
    #[arg(long)]
    markdown: bool,
}

/// The number of digits of a sha256 that are shown.
const SHORT: usize = 12;

pub(super) fn run(args: &PluginsArgs) -> Result<ExitCode, Failure> {
    if let Some(missing) = args.dir.iter().find(|dir| !dir.is_dir()) {
        let message =
            format!("no folder {}: create it, or choose another with --dir", missing.display());
        return Err(Failure::usage(message));
    }
    let (folders, named) = folders(args)?;
    if args.retry {
        probe::forget_all();
    }
    let inventory = Inventory::of(&folders, &named).map_err(Failure::usage)?;
    if args.markdown {
        say!("{}", super::catalogue::markdown(&inventory).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        say!("{:#}", super::plugin_json::files(&inventory.plugin_set));
        return Ok(ExitCode::SUCCESS);
    }
    list(&folders, &inventory.plugin_set);
    list_named(&named, &inventory.plugin_set);
    Ok(ExitCode::SUCCESS)
}

/// The folders to list, and libraries elsewhere that the config names.
fn folders(args: &PluginsArgs) -> Result<(PluginFolders, Vec<PathBuf>), Failure> {
    if let Some(config) = &args.config {
        let file = ConfigFile::load(config, &args.set)?;
        return Ok((file.plugin_folders()?, file.libraries()?));
    }
    if args.dir.is_empty() {
        return Ok((usual_folders(), Vec::new()));
    }
    let dirs = args.dir.iter().filter_map(|dir| std::path::absolute(dir).ok()).collect();
    Ok((PluginFolders { dirs, search: Vec::new(), trust: own_trust() }, Vec::new()))
}

/// The folders of a config without `[plugins]` in the current directory, including those that do not exist.
pub(super) fn usual_folders() -> PluginFolders {
    let own = std::path::absolute("plugins").ok();
    PluginFolders {
        dirs: own.into_iter().filter(|dir| dir.is_dir()).collect(),
        search: installation::plugin_folders(),
        trust: own_trust(),
    }
}

/// The requirements of a config without `[plugins]` in the current directory.
pub(super) fn own_trust() -> PluginTrust {
    let lock = std::path::absolute(ConfigFile::LOCK).unwrap_or_default();
    let policy = if lock.exists() { TrustPolicy::Warn } else { TrustPolicy::Off };
    PluginTrust { policy, lock, ..PluginTrust::default() }
}

/// Folder by folder, in the order in which they are searched.
fn list(folders: &PluginFolders, plugin_set: &PluginSet) {
    for dir in folders.dirs.iter().chain(&folders.search) {
        say!("{}{}", dir.display(), if dir.is_dir() { ":" } else { ": no such folder" });
        for (path, library) in plugin_set.found_in(dir) {
            library_lines(path, library);
        }
        for (path, error) in plugin_set.failed.iter().filter(|(path, _)| path.parent() == Some(dir))
        {
            say!("{}  failed to load: {error}", file_name(path));
        }
        let shadowed = plugin_set.shadowed.iter().filter(|(path, _)| path.parent() == Some(dir));
        for (path, first) in shadowed {
            say!("{}  not loaded: {} takes precedence", file_name(path), first.display());
        }
    }
    if plugin_set.libraries.is_empty() && plugin_set.failed.is_empty() {
        say!("no plugin libraries here; `cargo xtask build` puts the bundled ones into plugins/");
    }
}

/// The libraries that a config names by path, outside of the folders.
fn list_named(named: &[PathBuf], plugin_set: &PluginSet) {
    for (path, library) in plugin_set.found().filter(|(path, _)| is_named(named, path)) {
        say!("{}, named by the config:", path.display());
        library_lines(path, library);
    }
    for (path, error) in plugin_set.failed.iter().filter(|(path, _)| is_named(named, path)) {
        say!("{}, named by the config: failed to load: {error}", path.display());
    }
}

fn is_named(named: &[PathBuf], path: &Path) -> bool {
    named.iter().any(|own| own == path)
}

fn library_lines(path: &Path, file: &PluginFile) {
    let library = &file.about;
    let (info, abi, sha256) = (&library.info, library.abi(), &library.sha256[..SHORT]);
    let verification = match (file.verification.locked, &file.verification.signer) {
        (false, None) => String::new(),
        (true, None) => ", locked".to_owned(),
        (false, Some(key)) => format!(", signed by {key}"),
        (true, Some(key)) => format!(", locked, signed by {key}"),
    };
    say!(
        "{}  {} {}, ABI {abi}, sha256 {sha256}…{verification}",
        file_name(path),
        info.name,
        info.version
    );
    if let Some(warning) = &file.verification.warning {
        say!("  warning: {warning}");
    }
    for hook in &library.hooks {
        say!("  hook    {:<24} {}", hook.name, hook.doc);
    }
    for metric in &library.metrics {
        say!("  metric  {:<24} {}", metric.name, metric.doc);
    }
}

fn file_name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

//! `hookrack plugins`: what is in the plugin folders, and what would not load.

use super::exit::Failure;
use crate::inventory::Inventory;
use crate::plugins::Shelf;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// List the libraries in the plugin folders, and why a library could not be loaded
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack plugins
  hookrack plugins --dir plugins --dir ~/my-plugins
  hookrack plugins --markdown > hooks.md"))]
pub(super) struct PluginsArgs {
    /// A folder to look in; may be given many times
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    dir: Vec<PathBuf>,

    /// Print every hook and metric, built in or from these folders, as a Markdown page
    #[arg(long)]
    markdown: bool,
}

pub(super) fn run(args: &PluginsArgs) -> Result<ExitCode, Failure> {
    if let Some(missing) = args.dir.iter().find(|dir| !dir.is_dir()) {
        let message =
            format!("no folder {}: name another with --dir, or make it", missing.display());
        return Err(Failure::usage(message));
    }
    if args.markdown {
        let inventory = Inventory::take(&args.dir).map_err(Failure::usage)?;
        say!("{}", super::catalogue::markdown(&inventory).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let shelf = Shelf::scan(&args.dir);
    for library in &shelf.libraries {
        let file = library.path.file_name().unwrap_or_default().to_string_lossy();
        say!(
            "{file}  {} {}, ABI {}.{}",
            library.name,
            library.version,
            library.abi.0,
            library.abi.1
        );
        for hook in &library.hooks {
            say!("  hook    {:<24} {}", hook.name(), hook.manifest.doc);
        }
        for metric in &library.metrics {
            say!("  metric  {:<24} {}", metric.name(), metric.manifest.doc);
        }
    }
    for (path, error) in &shelf.failed {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        say!("{file}  would not load: {error}");
    }
    if shelf.libraries.is_empty() && shelf.failed.is_empty() {
        say!("no plugin libraries here; `cargo xtask build` puts the bundled ones into plugins/");
    }
    Ok(ExitCode::SUCCESS)
}

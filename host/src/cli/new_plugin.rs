//! `hookrack new-plugin`: a plugin that builds as it is.

use super::exit::Failure;
use crate::new_plugin::{self, ApiSource, Lang};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write a new plugin, outside of any workspace, that builds as it is
#[derive(Args)]
#[command(after_help = "\
Examples:
  hookrack new-plugin grad-watch
  hookrack new-plugin grad-watch --lang c --dir ~/plugins/grad-watch")]
pub(super) struct NewPluginArgs {
    /// The plugin's name, such as grad-watch
    name: String,

    /// The language
    #[arg(long, value_enum, default_value = "rust")]
    lang: Language,

    /// The folder; else one of the plugin's name here
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    Rust,
    C,
}

pub(super) fn run(args: &NewPluginArgs) -> Result<ExitCode, Failure> {
    let lang = match args.lang {
        Language::Rust => Lang::Rust,
        Language::C => Lang::C,
    };
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let api =
        ApiSource::of_host(Path::new(env!("CARGO_MANIFEST_DIR")), env!("CARGO_PKG_REPOSITORY"));
    let written = new_plugin::write(&args.name, lang, &dir, &api).map_err(Failure::new_plugin)?;
    for path in &written {
        say!("wrote {}", path.display());
    }
    say!("how to build and use it: {}", dir.join("README.md").display());
    Ok(ExitCode::SUCCESS)
}

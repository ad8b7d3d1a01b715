//! `hookrack new-plugin`: a plugin that builds as it is.

use super::exit::Failure;
use crate::new_plugin::{self, ApiSource, Lang};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Create a new plugin project that builds as it is
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack new-plugin grad-watch
  hookrack new-plugin grad-watch --lang c --dir ~/plugins/grad-watch"))]
pub(super) struct NewPluginArgs {
    /// Name of the plugin, such as grad-watch
    name: String,

    /// Language of the plugin
    #[arg(long, value_enum, default_value = "rust")]
    lang: Language,

    /// Directory to create [default: ./NAME]
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

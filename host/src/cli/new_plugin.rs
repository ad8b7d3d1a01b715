//! `hookrack new-plugin`: a plugin that builds as it is.

use super::exit::Failure;
use crate::new_plugin::{self, Kind, Lang, NewPlugin};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// Create a new plugin that builds as is, with the SDK beside it
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack new-plugin grad-watch                        a hook in Rust, in ./grad-watch
  hookrack new-plugin mean-loss --kind metric           a metric
  hookrack new-plugin skip-spikes --kind role --lang cpp
  hookrack new-plugin grad-watch --lang c --dir ~/plugins/grad-watch
  hookrack sdk sdk && hookrack new-plugin a --sdk sdk   several plugins that share one SDK"))]
pub(super) struct NewPluginArgs {
    /// Name of the plugin, such as grad-watch
    name: String,

    /// What the plugin provides: a hook, a metric, or a hook with a role
    #[arg(long, value_enum, default_value = "hook")]
    kind: PluginKind,

    /// Language of the plugin
    #[arg(long, value_enum, default_value = "rust")]
    lang: Language,

    /// Directory to create [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Use the SDK in DIR instead of writing one into the plugin's directory
    #[arg(long, value_name = "DIR")]
    sdk: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    Rust,
    C,
    Cpp,
}

#[derive(Clone, Copy, ValueEnum)]
enum PluginKind {
    Hook,
    Metric,
    Role,
}

pub(super) fn run(args: &NewPluginArgs) -> Result<ExitCode, Failure> {
    let lang = match args.lang {
        Language::Rust => Lang::Rust,
        Language::C => Lang::C,
        Language::Cpp => Lang::Cpp,
    };
    let kind = match args.kind {
        PluginKind::Hook => Kind::Hook,
        PluginKind::Metric => Kind::Metric,
        PluginKind::Role => Kind::Role,
    };
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let plugin = NewPlugin { name: &args.name, lang, kind, dir: &dir, sdk: args.sdk.as_deref() };
    for path in new_plugin::write(&plugin).map_err(Failure::new_plugin)? {
        say!("wrote {}", path.display());
    }
    if args.sdk.is_none() {
        say!("wrote {}", dir.join("sdk").display());
    }
    say!("see {} for how to build and use it", dir.join("README.md").display());
    Ok(ExitCode::SUCCESS)
}

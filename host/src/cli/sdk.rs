//! `hookrack sdk`: what plugins are built with.

use super::exit::Failure;
use clap::Args;
use hookrack_sdk::{self as sdk, Parts};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the SDK that plugins are built with, or update one
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack sdk sdk                      the Rust crate and the C and C++ headers
  hookrack sdk grad-watch/sdk           update the SDK of a plugin
  hookrack sdk include --headers        only the headers"))]
pub(super) struct SdkArgs {
    /// Directory to write to: a new or empty one, or that of an SDK
    dir: PathBuf,

    /// Write the C and C++ headers only
    #[arg(long)]
    headers: bool,
}

pub(super) fn run(args: &SdkArgs) -> Result<ExitCode, Failure> {
    let parts = if args.headers { Parts::Headers } else { Parts::All };
    let count = sdk::write(&args.dir, parts).map_err(Failure::sdk)?;
    say!("wrote hookrack-plugin-api {}, {count} files, to {}", sdk::VERSION, args.dir.display());
    Ok(ExitCode::SUCCESS)
}

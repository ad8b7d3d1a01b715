//! `hookrack config`: what a config means, and where each value comes from.

use super::exit::Failure;
use super::{plot_lr, plugins};
use crate::config::{ConfigFile, schema};
use crate::inventory::Inventory;
use crate::job::Job;
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print the resolved config and where each value comes from, or the JSON Schema of configs
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack config configs/quickstart.toml                    every value and where it comes from
  hookrack config configs/quickstart.toml --toml             an equivalent, complete config
  hookrack config configs/quickstart.toml --plot-lr lr.svg   plot the learning rate
  hookrack config --schema > hookrack.schema.json            for your editor"))]
pub(super) struct ConfigArgs {
    /// The config file; with --schema only its plugin folders are used
    #[arg(required_unless_present = "schema")]
    config: Option<PathBuf>,

    /// Override a value of the config, such as train.max_epochs=3 (repeatable)
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Print the resolved config as TOML, itself a valid config
    #[arg(long, conflicts_with = "schema")]
    toml: bool,

    /// Plot the learning rate of the whole run to an SVG file; reads the data to count iterations
    #[arg(long, value_name = "FILE", conflicts_with_all = ["schema", "toml"])]
    plot_lr: Option<PathBuf>,

    /// Print the JSON Schema of configs, with every hook and metric in the plugin folders
    #[arg(long)]
    schema: bool,
}

fn is_svg(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "svg")
}

pub(super) fn run(args: &ConfigArgs) -> Result<ExitCode, Failure> {
    if args.schema {
        let folders = match &args.config {
            Some(path) => ConfigFile::load(path, &args.set)?.plugin_folders()?,
            None => plugins::usual_folders(),
        };
        let schema = schema::json_schema(&Inventory::of(&folders, &[])?.catalog);
        say!("{}", serde_json::to_string_pretty(&schema).unwrap_or_default());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = args.plot_lr.as_ref().filter(|file| !is_svg(file)) {
        let why = format!("{}: the file name must end in .svg", file.display());
        return Err(Failure::usage(why));
    }
    let path = args.config.as_deref().unwrap_or(Path::new(""));
    let job = Job::load(path, &args.set)?;
    if let Some(file) = &args.plot_lr {
        plot_lr::plot(&job, file)?;
        say!("plotted the learning rate of {} to {}", path.display(), file.display());
        return Ok(ExitCode::SUCCESS);
    }
    if args.toml {
        say!("{}", job.config.to_toml().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let rows = job.config.explain();
    let width = |text: fn(&crate::config::SettingOrigin) -> &str| {
        rows.iter().map(|row| text(row).len()).max().unwrap_or(0).min(60)
    };
    let (key, value) = (width(|row| &row.key), width(|row| &row.value));
    for row in &rows {
        say!("{:<key$} = {:<value$}  # {}", row.key, row.value, row.origin);
    }
    Ok(ExitCode::SUCCESS)
}

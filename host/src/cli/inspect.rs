//! `hookrack inspect`: what a plugin library says about itself, or what a run or a checkpoint holds.

use super::exit::Failure;
use super::run_state::RunState;
use crate::config::reference;
use crate::plugins::trust::Trust;
use crate::plugins::{Description, HookManifest, MetricManifest, PluginFile};
use crate::run::{RunDirError, checkpoint};
use clap::Args;
use hookrack_plugin_api::every::Every;
use hookrack_plugin_api::{OnRanks, Param, ParamType, Presence};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show what a plugin library provides, or what a run or a checkpoint contains
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack inspect plugins/libema.so                          hooks, metrics and parameters
  hookrack inspect runs/quickstart                            the run and its newest checkpoint
  hookrack inspect runs/quickstart/checkpoints/iter_0000460   one checkpoint"))]
pub(super) struct InspectArgs {
    /// Plugin library, run directory or checkpoint
    path: PathBuf,
}

pub(super) fn run(args: &InspectArgs) -> Result<ExitCode, Failure> {
    if args.path.is_dir() {
        inspect_folder(&args.path)?;
        return Ok(ExitCode::SUCCESS);
    }
    if checkpoint::named_in(&args.path).is_some() {
        super::inspect_checkpoint::print(&checkpoint::locate(&args.path)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let trust = Trust::new(&super::plugins::own_trust());
    print_library(&PluginFile::open(&args.path, &trust)?.about);
    Ok(ExitCode::SUCCESS)
}

fn inspect_folder(path: &Path) -> Result<(), Failure> {
    let Some(run) = RunState::read(path) else {
        return super::inspect_checkpoint::print(&checkpoint::locate(path)?);
    };
    run.print();
    match checkpoint::locate(path) {
        Ok(newest) => {
            say!("");
            super::inspect_checkpoint::print(&newest)
        }
        Err(RunDirError::NoCheckpoint { .. }) => {
            say!("  checkpoints none");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn print_library(library: &Description) {
    say!("{} {}", library.info.name, library.info.version);
    say!("  file        {}", library.path.display());
    say!("  sha256      {}", library.sha256);
    say!("  ABI         {}", library.abi());
    say!("  built with  {}", library.info.built_with);
    for hook in &library.hooks {
        print_hook(hook);
    }
    for metric in &library.metrics {
        print_metric(metric);
    }
}

fn print_hook(hook: &HookManifest) {
    say!("\nhook {}", hook.name);
    print_doc(&hook.doc);
    print_aliases(&hook.aliases);
    let points: Vec<_> = hook.points.iter().map(|point| point.name()).collect();
    say!("  points   {}", points.join(", "));
    if !hook.unknown_points.is_empty() {
        say!("  newer    {} (points that this host does not have)", hook.unknown_points.join(", "));
    }
    say!("  level    {}", hook.level);
    if hook.every != Every::Always {
        say!("  every    {}", hook.every);
    }
    say!(
        "  mutates  {}",
        if hook.mutates.is_empty() { "nothing".into() } else { hook.mutates.join(", ") }
    );
    say!("  state    {}", if hook.has_state { "saved in checkpoints" } else { "none" });
    for (label, words) in [("reads", &hook.reads), ("writes", &hook.writes)] {
        if !words.is_empty() {
            say!("  {label:<8} {}", words.join(", "));
        }
    }
    if hook.ranks != OnRanks::All {
        say!("  ranks    {}", hook.ranks.name());
    }
    if let Some(policy) = hook.on_error {
        say!("  on error {}", policy.name());
    }
    print_params(hook.params.as_deref());
}

fn print_metric(metric: &MetricManifest) {
    say!("\nmetric {}", metric.name);
    print_doc(&metric.doc);
    print_aliases(&metric.aliases);
    if let Some(better) = metric.better {
        say!("  better   {}", better.name());
    }
    print_params(metric.params.as_deref());
}

fn print_doc(doc: &str) {
    if !doc.is_empty() {
        say!("  {doc}");
    }
}

fn print_aliases(aliases: &[String]) {
    if !aliases.is_empty() {
        say!("  also     {}", aliases.join(", "));
    }
}

fn print_params(params: Option<&[Param]>) {
    let Some(params) = params else {
        say!("  parameters are not described; the plugin checks them itself");
        return;
    };
    for param in &reference::with_nested(params) {
        let depth = param.name.matches('.').count();
        let presence = match &param.presence {
            Presence::Required => "required".to_owned(),
            Presence::Optional => "optional".to_owned(),
            Presence::Default(value) => {
                let mut text = String::from("default ");
                value.write_json(&mut text);
                text
            }
        };
        say!(
            "  {:<16} {:<10} {presence:<16} {}{}{}",
            format!("{:indent$}{}", "", param.name, indent = 2 * depth),
            kind(&param.ty),
            param.doc,
            range(param),
            also(param)
        );
    }
}

fn kind(ty: &ParamType) -> String {
    match ty {
        ParamType::OneOf(names) => names.join("|"),
        ParamType::List(item) => format!("[{}]", kind(item)),
        ParamType::Any => "any".into(),
        ty => reference::type_name(ty),
    }
}

fn also(param: &Param) -> String {
    if param.aliases.is_empty() {
        return String::new();
    }
    format!(" (also {})", param.aliases.join(", "))
}

fn range(param: &Param) -> String {
    reference::range(param).map_or_else(String::new, |range| format!(" ({range})"))
}

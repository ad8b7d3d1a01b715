//! `hookrack export`: writes the weights of a run to one file.

use super::exit::Failure;
use crate::run::checkpoint::{self, Checkpoint};
use crate::run::{RunDirError, safetensors_file, torch_file};
use clap::{Args, ValueEnum};
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use tch::Tensor;

/// Export the weights of a run to one file, with PyTorch parameter names
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack export runs/quickstart --to model.safetensors
  hookrack export runs/quickstart --what ema --to model.pt
  hookrack export runs/quickstart --what ema --hook slow --to model.pt
  hookrack export runs/quickstart/checkpoints/iter_0000460 --to model.pt

In Python: model.load_state_dict(torch.load(\"model.pt\"))"))]
pub(super) struct ExportArgs {
    /// Run directory (uses its newest checkpoint), or checkpoint
    run: PathBuf,

    /// Which weights to export
    #[arg(long, value_enum, default_value = "model")]
    what: WhichWeights,

    /// Hook whose average to export, by name; needed if several have one
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,

    /// Output file, .safetensors or .pt
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum WhichWeights {
    /// The model's weights
    Model,
    /// The weights averaged by a hook such as EMAIterHook; buffers are the model's
    Ema,
}

pub(super) fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let (path, checkpoint) = checkpoint::open(&args.run)?;
    let (tensors, whose) = match (args.what, &args.hook) {
        (WhichWeights::Model, None) => (checkpoint.model.all()?, String::new()),
        (WhichWeights::Model, Some(_)) => {
            return Err(Failure::usage("--hook names a weight average: add --what ema".to_owned()));
        }
        (WhichWeights::Ema, wanted) => {
            let hook = choose(&averages(&checkpoint), wanted.as_deref())
                .map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
            (averaged(&checkpoint, &hook)?, format!(", averaged by {hook},"))
        }
    };
    match args.to.extension().and_then(|end| end.to_str()) {
        Some("safetensors") => safetensors_file::write(&args.to, &tensors)?,
        Some("pt" | "pth") => torch_file::write(&args.to, &tensors)?,
        _ => {
            let to = args.to.display();
            return Err(Failure::usage(format!(
                "{to}: the file name must end in .safetensors or .pt"
            )));
        }
    }
    let (count, from, to) = (tensors.len(), path.display(), args.to.display());
    say!("{count} tensors of {from}{whose} written to {to}");
    Ok(ExitCode::SUCCESS)
}

/// The tensor of a hook that is the average of a parameter.
fn average_of(hook: &str, name: &str) -> String {
    format!("{hook}/average.{name}")
}

/// The hooks that saved an average of the weights.
fn averages(checkpoint: &Checkpoint) -> Vec<String> {
    let Checkpoint { model, hooks, hook_tensors, .. } = checkpoint;
    let saved: HashSet<&str> = hook_tensors.names().collect();
    let has_average =
        |hook: &&String| model.names().any(|name| saved.contains(average_of(hook, name).as_str()));
    hooks.keys().filter(has_average).cloned().collect()
}

/// The hook whose average is exported: the wanted one, or the only one.
fn choose(found: &[String], wanted: Option<&str>) -> Result<String, String> {
    let all = found.join(", ");
    match (found, wanted) {
        ([], _) => Err("it has no averaged weights: no hook saved any".to_owned()),
        (found, Some(name)) if found.iter().any(|hook| hook == name) => Ok(name.to_owned()),
        (_, Some(name)) => Err(format!("no averaged weights of `{name}`; they are of: {all}")),
        ([only], None) => Ok(only.clone()),
        (_, None) => Err(format!(
            "several hooks have averaged weights: choose one of {all} with --hook NAME"
        )),
    }
}

/// The model with its parameters replaced by the average of a hook.
fn averaged(checkpoint: &Checkpoint, hook: &str) -> Result<Vec<(String, Tensor)>, RunDirError> {
    let Checkpoint { model, hook_tensors, .. } = checkpoint;
    let saved: HashSet<&str> = hook_tensors.names().collect();
    let mut model = model.all()?;
    for (name, tensor) in &mut model {
        let averaged = average_of(hook, name);
        if saved.contains(averaged.as_str()) {
            *tensor = hook_tensors.tensor(&averaged)?;
        }
    }
    Ok(model)
}

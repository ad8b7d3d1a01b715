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
  hookrack export runs/quickstart/checkpoints/iter_0000460 --to model.pt

In Python: model.load_state_dict(torch.load(\"model.pt\"))"))]
pub(super) struct ExportArgs {
    /// Run directory (uses its newest checkpoint), or checkpoint
    run: PathBuf,

    /// Which weights to export
    #[arg(long, value_enum, default_value = "model")]
    what: WhichWeights,

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
    let tensors = match args.what {
        WhichWeights::Model => checkpoint.model.all()?,
        WhichWeights::Ema => averaged(&checkpoint)?.ok_or_else(|| {
            Failure::usage(format!("{} has no averaged weights: no hook saved any", path.display()))
        })?,
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
    say!("{} tensors of {} written to {}", tensors.len(), path.display(), args.to.display());
    Ok(ExitCode::SUCCESS)
}

/// The model with its parameters replaced by the average of the first hook that has one.
fn averaged(checkpoint: &Checkpoint) -> Result<Option<Vec<(String, Tensor)>>, RunDirError> {
    let key = |name: &str| format!("average.{name}");
    let Checkpoint { model, hooks, hook_tensors, .. } = checkpoint;
    let mut model = model.all()?;
    let saved: HashSet<&str> = hook_tensors.names().collect();
    let has_average = |hook: &&String| {
        model.iter().any(|(name, _)| saved.contains(format!("{hook}/{}", key(name)).as_str()))
    };
    let Some(hook) = hooks.keys().find(has_average) else { return Ok(None) };
    for (name, tensor) in &mut model {
        let averaged = format!("{hook}/{}", key(name));
        if saved.contains(averaged.as_str()) {
            *tensor = hook_tensors.tensor(&averaged)?;
        }
    }
    Ok(Some(model))
}

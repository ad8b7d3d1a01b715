//! `hookrack predict`: the pred points over the data to predict; the outputs go to a file.

use super::exit::{Failure, code_in};
use super::from_checkpoint::FromCheckpoint;
use super::sample::SampleArgs;
use super::{ConfigSource, ranks};
use crate::engine::data::Target;
use crate::run::{PredictionFormat, Predictions};
use crate::train::{Interrupt, Parts, Trainer};
use crate::writers::{Writers, leave_terminal};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a checkpoint on [data.pred] and write the outputs to a file
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack predict configs/quickstart.toml --checkpoint runs/quickstart
  hookrack predict configs/quickstart.toml --checkpoint runs/quickstart --out predictions.jsonl
  hookrack predict configs/quickstart.toml --checkpoint runs/quickstart --out predictions.npy
  hookrack predict configs/gpt_bytes.toml --checkpoint runs/gpt_bytes --prompt 'hacker: n.'"))]
pub(super) struct PredictArgs {
    #[command(flatten)]
    source: ConfigSource,

    #[command(flatten)]
    from: FromCheckpoint,

    /// Output file: .safetensors (tensors `output`, `index`, `class`), .npy (outputs only) or .jsonl (a line per sample)
    #[arg(long, value_name = "FILE", default_value = "predictions.safetensors")]
    out: PathBuf,

    #[command(flatten)]
    sample: SampleArgs,
}

pub(super) fn run(args: &PredictArgs) -> Result<ExitCode, Failure> {
    ranks::check_single("predict")?;
    let format = PredictionFormat::of(&args.out).map_err(Failure::usage)?;
    let job = args.source.job()?;
    if let Some(prompt) = &args.sample.prompt {
        return args.sample.run(prompt, &job, args.from.open()?);
    }
    if job.config.data.pred.is_none() {
        let help =
            "add a [data.pred] section, or set one with -s, such as -s data.pred.type=Digits";
        return Err(job.config.refuse("data", "no data to predict", help).into());
    }
    if job.config.data.pred.as_ref().is_some_and(|pred| *pred.loading.shuffle) {
        let why = "predictions are written in the order of the data, and shuffle changes it";
        return Err(job.config.refuse("data.pred.shuffle", why, "set shuffle = false").into());
    }
    let parts = Parts::build(&job.config)?;
    let spec = parts.loaders.pred.as_ref().map(crate::engine::data::Loader::spec);
    let classifies = spec.is_some_and(|spec| matches!(spec.target, Target::Classes(_)));
    let interrupt = Interrupt::listen(leave_terminal).map_err(Failure::usage)?;
    let mut trainer = Trainer::assemble(parts, &job, Writers::default(), None, interrupt)?;
    trainer.resume_from(args.from.open()?);
    let (ending, outputs) = trainer.predict();
    let code = code_in(ending, &job.config)?;
    if code == ExitCode::SUCCESS {
        let predictions = Predictions::new(&outputs, classifies).map_err(Failure::usage)?;
        predictions.write(&args.out, format)?;
        say!("{} predictions in {}", predictions.len(), args.out.display());
    }
    Ok(code)
}

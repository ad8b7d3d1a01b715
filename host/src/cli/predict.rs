//! `hookrack predict`: the pred points over the data to predict; the outputs go to a file.

use super::exit::{Failure, code_in};
use super::from_checkpoint::FromCheckpoint;
use super::sample::SampleArgs;
use super::{ConfigSource, out_file, ranks};
use crate::job::Job;
use crate::plugins::crash::CrashWatch;
use crate::run::{PredictionFormat, Predictions};
use crate::writers::{Console, Writers};
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
    pub(super) sample: SampleArgs,
}

/// Checks the config of a prediction over data.
pub(super) fn check(args: &PredictArgs) -> Result<Job, Failure> {
    let job = args.source.job()?;
    let Some(pred) = &job.config.data.pred else {
        let help =
            "add a [data.pred] section, or set one with -s, such as -s data.pred.type=Digits";
        return Err(job.config.refuse("data", "no data to predict", help).into());
    };
    if *pred.loading.shuffle {
        let why = "predictions are written in the order of the data, and shuffle changes it";
        return Err(job.config.refuse("data.pred.shuffle", why, "set shuffle = false").into());
    }
    Ok(job)
}

pub(super) fn run(args: &PredictArgs, crash: &CrashWatch) -> Result<ExitCode, Failure> {
    let format = PredictionFormat::of(&args.out).map_err(Failure::usage)?;
    if let Some(prompt) = &args.sample.prompt {
        ranks::check_single("predict --prompt")?;
        let job = args.source.job()?;
        crash.report();
        return args.sample.run(prompt, &job, args.from.open()?);
    }
    out_file::check_folder(&args.out)?;
    let mut job = check(args)?;
    crash.report();
    let mut writers = Writers::default();
    if let Some(console) = Console::on_terminal() {
        writers.add(console);
    }
    let mut evaluator = ranks::evaluator(&mut job, &args.from, writers)?;
    let (ending, outputs) = evaluator.trainer.predict();
    let code = code_in(ending, &job.config)?;
    if code == ExitCode::SUCCESS && evaluator.is_main {
        let classifies = evaluator.trainer.classifies();
        let predictions = Predictions::new(&outputs, classifies).map_err(Failure::usage)?;
        predictions.write(&args.out, format)?;
        say!("{} predictions in {}", predictions.len(), args.out.display());
    }
    Ok(code)
}

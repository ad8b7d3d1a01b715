//! `hookrack eval`: the test points over the test data, with a checkpoint's weights.

use super::exit::{Failure, code_in};
use super::from_checkpoint::FromCheckpoint;
use super::{ConfigSource, out_file, ranks};
use crate::job::Job;
use crate::plugins::crash::CrashWatch;
use crate::run::atomic;
use crate::writers::{Console, Writers};
use clap::Args;
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Evaluate a checkpoint on [data.test] and every [data.tests.NAME]; print the metrics
#[derive(Args)]
#[command(after_help = help!("\
Examples:
  hookrack eval configs/quickstart.toml --checkpoint runs/quickstart
  hookrack eval configs/quickstart.toml --checkpoint runs/quickstart/checkpoints/iter_0000230
  hookrack eval configs/quickstart.toml --checkpoint runs/quickstart --out eval.json"))]
pub(super) struct EvalArgs {
    #[command(flatten)]
    source: ConfigSource,

    #[command(flatten)]
    from: FromCheckpoint,

    /// Also write the metrics to this JSON file, by their full names
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Checks the config of an evaluation.
pub(super) fn check(args: &EvalArgs) -> Result<Job, Failure> {
    let job = args.source.job()?;
    let data = &job.config.data;
    if data.test.is_none() && data.tests.is_empty() {
        let help =
            "add a [data.test] section, or set one with -s, such as -s data.test.type=Digits";
        return Err(job.config.refuse("data", "no test data to evaluate on", help).into());
    }
    Ok(job)
}

pub(super) fn run(args: &EvalArgs, crash: &CrashWatch) -> Result<ExitCode, Failure> {
    args.out.iter().try_for_each(|path| out_file::check_folder(path))?;
    let mut job = check(args)?;
    crash.report();
    let mut writers = Writers::default();
    writers.add(Console::new());
    let mut evaluator = ranks::evaluator(&mut job, &args.from, writers)?;
    let (ending, values) = evaluator.trainer.test();
    let code = code_in(ending, &job.config)?;
    if !evaluator.is_main {
        return Ok(code);
    }
    if !job.config.data.tests.is_empty() {
        for (name, value) in &values {
            say!("{name} {value:.4}");
        }
    }
    if let Some(path) = &args.out {
        write(path, &values)?;
    }
    Ok(code)
}

/// One object; NaN is null.
fn write(path: &Path, values: &[(String, f64)]) -> Result<(), Failure> {
    let values: Map<_, _> =
        values.iter().map(|(name, value)| (name.clone(), Json::from(*value))).collect();
    let text = format!("{:#}\n", Json::Object(values));
    Ok(atomic::write(path, text.as_bytes())?)
}

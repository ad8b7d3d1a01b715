//! One training of one model by one framework, in a process of its own.

use super::child::{self, Ended};
use super::framework::{Framework, Program};
use super::model::Model;
use crate::error::BenchError;
use crate::measured_hooks::{beside_this, workspace};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// What all frameworks are given.
pub(super) struct Place {
    pub(super) python: PathBuf,
    /// The folder of Fashion-MNIST or MNIST.
    pub(super) images: PathBuf,
    /// A file of text.
    pub(super) text: PathBuf,
    /// Where runs and logs are written.
    pub(super) folder: PathBuf,
}

/// What a training showed.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) steps_per_second: f64,
    /// Seconds from the start of the process to the end of its first step.
    pub(crate) first_step: f64,
    /// The last loss: a model that does not learn was not trained as the others were.
    pub(crate) loss: f64,
    /// The largest resident memory, in MiB.
    pub(crate) peak: f64,
    pub(crate) versions: BTreeMap<String, String>,
}

impl Place {
    /// Trains once. A framework that fails is the `Err` inside, with its reason.
    pub(super) fn train(
        &self,
        model: &Model,
        framework: Framework,
    ) -> Result<Result<Measured, String>, BenchError> {
        let folder = self.folder.join("current");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(BenchError::file(&folder))?;
        let mut command = match framework.program() {
            Program::Hookrack(set) => {
                return Ok(self
                    .by_hookrack(model, set, &folder)
                    .map_err(|error| error.to_string()));
            }
            Program::Tch => {
                let mut command = Command::new(beside_this("hookrack-bench")?);
                command.arg("by-tch");
                command
            }
            Program::Python(script, more) => {
                let mut command = Command::new(&self.python);
                command.arg(workspace().join("scripts/bench/peers").join(script)).args(more);
                command
            }
        };
        self.by_peer(model, &mut command, &folder)
    }

    fn by_peer(
        &self,
        model: &Model,
        command: &mut Command,
        folder: &Path,
    ) -> Result<Result<Measured, String>, BenchError> {
        command.args(["--model", model.name]);
        command.args(["--steps", &model.steps().to_string()]);
        command.args(["--warmup", &model.warmup.to_string()]);
        command.arg("--images").arg(&self.images).arg("--text").arg(&self.text);
        command.arg("--folder").arg(folder).args(["--started", &now().to_string()]);
        let ended = child::run(command, folder)?;
        Ok(ended.failure.clone().map_or_else(|| answer(&ended), Err))
    }

    fn by_hookrack(
        &self,
        model: &Model,
        set: &[&str],
        folder: &Path,
    ) -> Result<Measured, BenchError> {
        // The whole run of one step, its end included: more than the peers count.
        let one = [set, &["train.max_iters=1"]].concat();
        let first = self.hookrack(model, &folder.join("first"), &one, folder)?;
        let run = folder.join("run");
        let epochs = format!("train.max_epochs={}", model.epochs + 1);
        let whole = self.hookrack(model, &run, &[set, &[&epochs]].concat(), folder)?;
        let metrics = run.join("metrics.json");
        let text = fs::read_to_string(&metrics).map_err(BenchError::file(&metrics))?;
        let (steps_per_second, loss) = speed(&text, model)
            .ok_or_else(|| BenchError::Ending(format!("no epoch in {}", metrics.display())))?;
        let versions = [("hookrack".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        let (first_step, peak, versions) = (first.seconds, whole.peak, versions.into());
        Ok(Measured { steps_per_second, first_step, loss, peak, versions })
    }

    fn hookrack(
        &self,
        model: &Model,
        run: &Path,
        set: &[&str],
        folder: &Path,
    ) -> Result<Ended, BenchError> {
        let config = format!("bench/peers/{}.toml", model.name);
        let (key, path) = if model.is_text { ("path", &self.text) } else { ("dir", &self.images) };
        let data = format!("data.train.{key}='{}'", path.display());
        let first = format!("data.train.first={}", model.batch * model.epoch);
        let mut command = Command::new(beside_this("hookrack")?);
        command.args(["train", &config, "--quiet", "--run-dir"]).arg(run).current_dir(workspace());
        for set in [&[data.as_str(), first.as_str()], set].concat() {
            command.args(["-s", set]);
        }
        let ended = child::run(&mut command, folder)?;
        match &ended.failure {
            None => Ok(ended),
            Some(why) => {
                Err(BenchError::Command { command: format!("train {config}"), why: why.clone() })
            }
        }
    }
}

/// Seconds since 1970, as Python's `time.time()`.
pub(super) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// A peer's line of JSON, the last one that it printed.
fn answer(ended: &Ended) -> Result<Measured, String> {
    let mut lines = ended.stdout.lines().rev();
    let found = lines.find_map(|line| serde_json::from_str::<Json>(line).ok());
    let found = found.ok_or("it printed no figures")?;
    let number = |key: &str| found[key].as_f64().ok_or_else(|| format!("it printed no `{key}`"));
    let versions = found["versions"].as_object().into_iter().flatten();
    let versions = versions.filter_map(|(name, it)| Some((name.clone(), it.as_str()?.to_owned())));
    Ok(Measured {
        steps_per_second: number("steps_per_second")?,
        first_step: number("first_step")?,
        loss: number("loss")?,
        peak: ended.peak,
        versions: versions.collect(),
    })
}

/// Steps a second in all epochs of `metrics.json` but the first, and the last loss. The time of an epoch includes every hook of
/// its iterations.
#[expect(clippy::cast_precision_loss, reason = "few steps")]
fn speed(metrics: &str, model: &Model) -> Option<(f64, f64)> {
    let lines: Vec<Json> =
        metrics.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let all =
        |key: &str| -> Vec<f64> { lines.iter().filter_map(|line| line[key].as_f64()).collect() };
    let epochs = all("train/epoch_time");
    let loss = *all("train/loss").last()?;
    let counted = epochs.get(1..).filter(|counted| counted.len() == model.epochs)?;
    Some((model.steps() as f64 / counted.iter().sum::<f64>(), loss))
}

#[cfg(test)]
mod tests {
    use super::super::model::named;
    use super::*;

    #[test]
    fn the_first_epoch_warms_up_and_the_others_count() {
        let lines = "{\"iter\": 900, \"train/loss\": 2.0, \"train/epoch_time\": 90.0}\n\
                     {\"iter\": 1800, \"train/loss\": 1.0, \"train/epoch_time\": 1.0}\n\
                     {\"iter\": 2700, \"train/epoch_time\": 2.0, \"train/loss\": 0.5}\n";
        let model = named("mlp").unwrap();
        assert_eq!(speed(lines, model), Some((600.0, 0.5)));
        assert_eq!(speed(&lines[..70], model), None, "an epoch is missing");
    }

    #[test]
    fn a_peer_answers_with_its_last_line() {
        let said = |stdout: &str| {
            let stdout = stdout.to_owned();
            answer(&Ended { seconds: 2.0, peak: 300.0, stdout, failure: None })
        };
        let line = "{\"steps_per_second\": 10, \"first_step\": 1.5, \"loss\": 0.5, \"versions\": {\"jax\": \"1.0\"}}";
        let found = said(&format!("some words\n{line}\n")).unwrap();
        assert_eq!((found.steps_per_second, found.peak), (10.0, 300.0));
        assert_eq!(found.versions["jax"], "1.0");
        assert_eq!(said("some words\n").unwrap_err(), "it printed no figures");
        assert_eq!(said("{\"loss\": 1}\n").unwrap_err(), "it printed no `steps_per_second`");
    }
}

//! `EvaluateHook`: says when validation is due; the loop has the slot for it.

use hookrack_plugin_api::prelude::*;
use serde_json::{Map, Value as Json};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Asks for a validation every so many epochs or iterations, and for one at the end of training.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvaluateHook {
    /// Epochs between two validations; 0 for none by epoch.
    #[param(default = 1)]
    interval: u64,
    /// Iterations between two validations; 0 for none by iteration.
    #[serde(default)]
    eval_iter_period: u64,
    /// Iterations between two validations, with none by epoch: the two above do not count then.
    #[param(min = 1)]
    eval_period: Option<u64>,
    /// Whether there is any validation at all.
    #[param(default = true)]
    is_run_eval: bool,
    /// A file of the run directory for what each validation came to, one JSON object a line, as iMIX leaves
    /// `eval_result.json`; none where it is empty, because `metrics.json` has the same numbers.
    #[serde(default)]
    eval_json_file: String,
}

impl EvaluateHook {
    /// Epochs and iterations between two validations; 0 for none.
    fn periods(&self) -> (u64, u64) {
        match self.eval_period {
            _ if !self.is_run_eval => (0, 0),
            Some(iters) => (0, iters),
            None => (self.interval, self.eval_iter_period),
        }
    }

    /// Where results go, if anywhere.
    fn file(&self, t: &Trainer) -> Option<PathBuf> {
        t.run_dir()
            .filter(|_| !self.eval_json_file.is_empty())
            .map(|dir| dir.join(&self.eval_json_file))
    }
}

/// The validation that has just ended, as a line.
fn line(t: &Trainer) -> Result<String> {
    let (epoch, iter) = (t.epoch(), t.iter());
    let mut line = Map::from_iter([("epoch".into(), epoch.into()), ("iter".into(), iter.into())]);
    for one in t.scalars()?.into_iter().filter(|one| one.iter == iter && !one.smooth) {
        if let Some(name) = one.name.strip_prefix("val/") {
            line.insert(name.to_owned(), one.latest.into());
        }
    }
    Ok(format!("{}\n", Json::Object(line)))
}

/// Drops what a run that is taken up again wrote after the checkpoint: it makes those validations once more.
fn rewind(path: &Path, iter: u64) -> std::io::Result<()> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    let is_kept = |line: &&str| {
        let read = serde_json::from_str::<Json>(line).ok();
        read.and_then(|line| line["iter"].as_u64()).is_some_and(|of| of <= iter)
    };
    fs::write(path, text.split_inclusive('\n').filter(is_kept).collect::<String>())
}

/// Adds a line, whole or not at all.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let end = file.metadata()?.len();
    file.write_all(line.as_bytes()).or_else(|error| file.set_len(end).and(Err(error)))
}

fn is_due(count: u64, period: u64) -> bool {
    period > 0 && count.is_multiple_of(period)
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    move |error| Error::new(format!("cannot write {}: {error}", path.display()))
}

#[hook(level = 32, aliases = "EvalHook", on_error = "abort")]
impl Hook for EvaluateHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        let Some(path) = self.file(t) else { return Ok(()) };
        rewind(&path, t.iter()).map_err(failed(&path))
    }

    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> {
        let (_, period) = self.periods();
        if is_due(t.iter(), period) { t.request_validation() } else { Ok(()) }
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let (period, iter_period) = self.periods();
        // The last weights are validated, whatever the periods: before the last checkpoint, and before the best is chosen.
        let is_last = t.epoch() >= t.max_epochs() || t.iter() >= t.max_iters();
        let is_last = is_last && period + iter_period > 0;
        if is_last || is_due(t.epoch(), period) { t.request_validation() } else { Ok(()) }
    }

    fn after_val(&mut self, t: &mut Trainer) -> Result<()> {
        let Some(path) = self.file(t) else { return Ok(()) };
        append(&path, &line(t)?).map_err(failed(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_checkpoint_is_dropped_and_half_a_line_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("eval_result.json");
        rewind(&path, 3).unwrap();
        assert!(!path.exists());
        fs::write(&path, "{\"iter\":2}\n{\"iter\":4}\n{\"it").unwrap();
        rewind(&path, 3).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"iter\":2}\n");
    }
}

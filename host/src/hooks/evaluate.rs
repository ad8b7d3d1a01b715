//! `EvaluateHook`: says when validation is due; the loop has the slot for it.

use hookrack_plugin_api::prelude::*;
use serde_json::{Map, Value as Json};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Asks for a validation every so many epochs, or iterations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvaluateHook {
    /// Epochs between two validations; 0 for none by epoch.
    #[param(default = 1)]
    interval: u64,
    /// Iterations between two validations; 0 for none by iteration.
    #[serde(default)]
    eval_iter_period: u64,
    /// Iterations between two validations, with one after the last and none by epoch: the two above do not count then.
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
    /// Asks where `count` is a multiple of a period that is not 0.
    fn ask(&self, t: &mut Trainer, count: u64, period: u64) -> Result<()> {
        let is_due = self.is_run_eval && period > 0 && count.is_multiple_of(period);
        if is_due { t.request_validation() } else { Ok(()) }
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
        let period = self.eval_period.unwrap_or(self.eval_iter_period);
        if self.eval_period.is_some() && t.iter() == t.max_iters() {
            return self.ask(t, 1, 1);
        }
        self.ask(t, t.iter(), period)
    }

    fn after_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let period = if self.eval_period.is_some() { 0 } else { self.interval };
        self.ask(t, t.epoch(), period)
    }

    fn after_val(&mut self, t: &mut Trainer) -> Result<()> {
        let Some(path) = self.file(t) else { return Ok(()) };
        let line = line(t)?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(failed(&path))
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

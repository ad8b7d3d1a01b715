//! The state of a run, read from its directory, also while it is running or after it was killed.

use crate::plugins::crash;
use crate::plugins::loader::visible;
use crate::run::{RunLock, checkpoint, json_file};
use hookrack_plugin_api::Phase;
use serde_json::{Map, Value as Json, json};
use std::path::{Path, PathBuf};

/// The state of a run, from its files.
pub(super) struct RunState {
    pub(super) name: String,
    path: PathBuf,
    /// The outcome, or `running`, or `crashed`, or `killed`.
    pub(super) state: String,
    pub(super) iter: u64,
    epoch: u64,
    /// The best values of validation, by full name.
    best: Vec<(String, f64)>,
    record: Json,
}

impl RunState {
    /// Reads a run directory; `None` for any other folder.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let mut record = json_file::record(path)?;
        let outcome = record["outcome"].as_str().unwrap_or("unknown").to_owned();
        let state = match (outcome.as_str(), RunLock::is_held(path)) {
            (_, true) => "running",
            // Its record says that it is running, but no process holds the lock.
            ("running", false) => match crash_of(path) {
                Some(message) => {
                    record["why"] = message.into();
                    "crashed"
                }
                None => "killed",
            },
            (outcome, false) => outcome,
        };
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let name = path.file_name()?.to_string_lossy().into_owned();
        let (epoch, iter, best) = reached(&path, &record);
        Some(Self { name, state: state.to_owned(), iter, epoch, best, record, path })
    }

    /// The best values in one line.
    pub(super) fn best_line(&self) -> String {
        let best = self.best.iter().map(|(name, value)| format!("{name} {value:.4}"));
        best.collect::<Vec<_>>().join(", ")
    }

    /// For a program.
    pub(super) fn json(&self) -> Json {
        let best = self.best.iter().map(|(name, value)| (name.clone(), Json::from(*value)));
        json!({
            "name": self.name,
            "path": self.path.to_string_lossy(),
            "state": self.state,
            "why": self.record["why"],
            "epoch": self.epoch,
            "iter": self.iter,
            "best": best.collect::<Map<_, _>>(),
            "config": self.record["config"],
            "began": self.record["began"],
            "seconds": self.record["seconds"],
        })
    }

    /// For a person.
    pub(super) fn print(&self) {
        say!("run {}", visible(&self.path.to_string_lossy()));
        say!("  state       {}", self.state);
        for (label, key) in [("why", "why"), ("config", "config"), ("hookrack", "hookrack")] {
            if let Some(text) = self.record[key].as_str() {
                say!("  {label:<11} {text}");
            }
        }
        say!("  epoch       {}", self.epoch);
        say!("  iteration   {}", self.iter);
        if !self.best.is_empty() {
            say!("  best        {}", self.best_line());
        }
    }
}

/// The message of the crash that ended the last start of a run; reports of earlier starts have other names.
fn crash_of(path: &Path) -> Option<String> {
    let report = std::fs::read(path.join(crash::FILE)).ok()?;
    let report: Json = serde_json::from_slice(&report).ok()?;
    Some(report["message"].as_str().unwrap_or("its report has no message").to_owned())
}

/// The progress of a run and its best values: from its record, or from its other files while the record has no end.
fn reached(path: &Path, record: &Json) -> (u64, u64, Vec<(String, f64)>) {
    let of_validation = |(name, _): &(String, f64)| name.starts_with("val/");
    if let Some(iter) = record["iter"].as_u64() {
        let metrics = record["metrics"].as_object().into_iter().flatten();
        let best = metrics
            .filter_map(|(name, value)| Some((name.clone(), value["best"]["value"].as_f64()?)));
        let epoch = record["epoch"].as_u64().unwrap_or(0);
        return (epoch, iter, best.filter(of_validation).collect());
    }
    let saved = checkpoint::newest_state(&path.join("checkpoints")).unwrap_or_default();
    let (epoch, iter) = last_line(path).unwrap_or_default();
    let best = saved.metrics.iter().filter_map(|reading| {
        let phase = Phase::from_code(reading.phase).name();
        Some((format!("{phase}/{}", reading.name), reading.best?))
    });
    let position = &saved.position;
    (position.epoch.max(epoch), position.iter.max(iter), best.filter(of_validation).collect())
}

/// Epoch and iteration of the last line of `metrics.json`.
fn last_line(path: &Path) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(path.join("metrics.json")).ok()?;
    let lines = text.lines().rev();
    lines
        .filter_map(|line| serde_json::from_str::<Json>(line).ok())
        .find_map(|line| Some((line["epoch"].as_u64().unwrap_or(0), line["iter"].as_u64()?)))
}

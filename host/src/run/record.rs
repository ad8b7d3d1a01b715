//! `run.json`: versions, plugins, config and outcome of a run.

use super::directory::RunDir;
use super::error::RunDirError;
use super::json_file;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The record of a run, written at its start and at its end.
pub struct Record {
    json: serde_json::Map<String, Json>,
    /// Durations do not follow the clock of the machine, which may be set while the run is in progress.
    began: Instant,
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn machine() -> Json {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    json!({
        "name": name.trim(),
        "cpus": std::thread::available_parallelism().map_or(1, usize::from),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
    })
}

impl Record {
    /// A record of a run that starts now.
    pub fn begin(command: &str, config: &str, plugins: &[Json]) -> Self {
        let json = json!({
            "hookrack": env!("CARGO_PKG_VERSION"),
            "libtorch": crate::torch::info::version(),
            "command": command,
            "config": config,
            "pid": std::process::id(),
            "began": seconds(SystemTime::now()),
            "threads": tch::get_num_threads(),
            "machine": machine(),
            "plugins": plugins,
            "outcome": "running",
        });
        let Json::Object(json) = json else { unreachable!("an object was written above") };
        Self { json, began: Instant::now() }
    }

    /// Records the checkpoint that the run resumes from, and the contents of its previous record.
    pub fn resumed_from(&mut self, checkpoint: &Path, run: &RunDir) {
        self.set("resumed_from", checkpoint.to_string_lossy());
        let Some(mut before) = json_file::record(run.path()) else { return };
        let mut earlier = before["earlier"].take().as_array().cloned().unwrap_or_default();
        let kept = ["began", "seconds", "outcome", "why", "iter", "pid"];
        let kept =
            kept.iter().filter_map(|key| Some(((*key).to_owned(), before.get(key)?.clone())));
        earlier.push(Json::Object(kept.collect()));
        self.set("earlier", earlier);
    }

    /// Records a value.
    pub fn set(&mut self, key: &str, value: impl Into<Json>) {
        self.json.insert(key.to_owned(), value.into());
    }

    /// Records the outcome.
    pub fn end(&mut self, outcome: &str, why: &str) {
        self.set("outcome", outcome);
        if !why.is_empty() {
            self.set("why", why);
        }
        self.set("seconds", self.began.elapsed().as_secs_f64());
    }

    /// Writes the record to the run directory.
    pub fn write(&self, run: &RunDir) -> Result<(), RunDirError> {
        run.write("run.json", &self.to_bytes())
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        json_file::pretty(&self.json).into_bytes()
    }
}

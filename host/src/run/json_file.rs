//! JSON files of a run.

use super::RunDirError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::path::Path;

/// The value in a file.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, RunDirError> {
    parse(path, &std::fs::read(path).map_err(RunDirError::io("read", path))?)
}

/// The value in the bytes of a file; `path` is for the message.
pub fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, RunDirError> {
    serde_json::from_slice(bytes).map_err(|error| RunDirError::damaged(path, error.to_string()))
}

/// `run.json` of a run directory; `None` if it is missing or damaged.
pub fn record(run: &Path) -> Option<Json> {
    read(&run.join("run.json")).ok()
}

/// The text of a file for people to read.
pub fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

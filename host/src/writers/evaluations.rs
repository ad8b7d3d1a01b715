//! The results of each validation, one JSON object a line: iMIX's `eval_result.json`.

use super::record_file::RecordFile;
use super::{RunFacts, Writer, json_lines};
use crate::events::{EventStorage, Series};
use crate::progress::Progress;
use crate::run::{RunDirError, atomic};
use serde_json::{Map, Value as Json};
use std::fs::{File, OpenOptions};
use std::path::Path;

/// What the names of its scalars begin with.
const PHASE: &str = "val/";

/// Appends a line for each validation.
struct Evaluations {
    records: RecordFile,
}

/// Opens the file for appending; a resumed run takes back what came after its checkpoint.
pub(super) fn open(path: &Path, _: &RunFacts) -> Result<Box<dyn Writer>, RunDirError> {
    if let Some(folder) = path.parent() {
        atomic::create_folder(folder)?;
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(RunDirError::io("open", path))?;
    Ok(Box::new(Evaluations { records: RecordFile::new(path, file)? }))
}

/// The last validation of which something is pending: its iteration, and its scalars by their own names.
fn line(events: &EventStorage, progress: &Progress) -> Option<Map<String, Json>> {
    let is_result = |series: &&Series| series.name().starts_with(PHASE) && !series.is_smooth();
    let results: Vec<&Series> = events.pending().filter(is_result).collect();
    let iter = results.iter().map(|series| series.step()).max()?;
    let mut line = Map::new();
    line.insert("epoch".into(), progress.epoch.into());
    line.insert("iter".into(), iter.into());
    for series in results.into_iter().filter(|series| series.step() == iter) {
        if let (Some(name), Some(value)) = (series.name().strip_prefix(PHASE), series.latest()) {
            line.insert(name.to_owned(), json_lines::number(value));
        }
    }
    Some(line)
}

impl Writer for Evaluations {
    fn write(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        self.record(events, progress)?;
        self.records.flush();
        Ok(())
    }

    fn record(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        if let Some(line) = line(events, progress) {
            self.records.push(format!("{}\n", Json::Object(line)).as_bytes(), 1);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RunDirError> {
        self.records.finish()
    }

    fn abandon(&mut self) -> Result<(), RunDirError> {
        Ok(())
    }

    fn name(&self) -> &'static str {
        "evaluations"
    }

    fn mark(&mut self) -> Result<Json, RunDirError> {
        Ok(self.records.settle()?.into())
    }

    fn file(&self) -> Option<(&Path, &File)> {
        Some(self.records.file())
    }

    fn rewind(&mut self, mark: Option<&Json>) -> Result<(), RunDirError> {
        self.records.rewind(mark.and_then(Json::as_u64).unwrap_or(0)).map(drop)
    }
}

//! `metrics.json`: one JSON object per line, appended. `jq -r '[.iter, ."train/loss"] | @tsv' metrics.json` reads it.

use super::json_lines::{self, Line};
use super::record_file::RecordFile;
use super::{RunFacts, Writer};
use crate::events::EventStorage;
use crate::progress::Progress;
use crate::run::{RunDirError, atomic};
use serde_json::Value as Json;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// Appends lines of JSON to a file: for `metrics.json`, the logged values of all scalars.
pub struct MetricsJson {
    name: &'static str,
    line: LineOf,
    records: RecordFile,
}

/// The line about what is pending; `None` if nothing is.
type LineOf = fn(&EventStorage, &Progress) -> Option<Line>;

impl MetricsJson {
    /// Opens the file for appending; a resumed run continues it.
    pub fn open(path: &Path) -> Result<Self, RunDirError> {
        Self::with_lines("metrics.json", path, json_lines::scalars)
    }

    /// The same for other lines. Checkpoints save its mark under `name`.
    pub(super) fn with_lines(
        name: &'static str,
        path: &Path,
        line: LineOf,
    ) -> Result<Self, RunDirError> {
        if let Some(folder) = path.parent() {
            atomic::create_folder(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(RunDirError::io("open", path))?;
        Ok(Self { name, line, records: RecordFile::new(path, file)? })
    }
}

/// The same lines in a second file, under iMIX's name.
pub(super) fn open_status(folder: &Path, _: &RunFacts) -> Result<Box<dyn Writer>, RunDirError> {
    let name = "training_status.json";
    Ok(Box::new(MetricsJson::with_lines(name, &folder.join(name), json_lines::scalars)?))
}

impl Writer for MetricsJson {
    fn write(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        self.record(events, progress)?;
        self.records.flush();
        Ok(())
    }

    fn record(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        if let Some(line) = (self.line)(events, progress) {
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
        self.name
    }

    fn mark(&mut self) -> Result<Json, RunDirError> {
        Ok(self.records.settle()?.into())
    }

    fn file(&self) -> Option<(&Path, &File)> {
        Some(self.records.file())
    }

    fn rewind(&mut self, mark: Option<&Json>) -> Result<(), RunDirError> {
        let missing = self.records.rewind(mark.and_then(Json::as_u64).unwrap_or(0))?;
        if missing > 0 {
            // The file was synced before the checkpoint was put in place: it was truncated since, or the disk lost data.
            let path = self.records.path().display();
            tracing::warn!("{path} has lost its last {missing} bytes: some lines are missing");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Sample;
    use std::fs;

    #[test]
    fn a_resumed_run_writes_each_line_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.json");
        let mut events = EventStorage::default();
        let mut writer = MetricsJson::open(&path).unwrap();
        let mut put = |writer: &mut MetricsJson, iter: u32| {
            let key = events.key("train/loss", false);
            let value = iter.into();
            events.put(key, Sample { iter: iter.into(), samples: 0, value });
            writer.write(&events, &Progress { iter: iter.into(), ..Progress::default() }).unwrap();
            events.mark_written();
        };
        (1..=3).for_each(|iter| put(&mut writer, iter));
        let mark = writer.mark().unwrap();
        (4..=5).for_each(|iter| put(&mut writer, iter));
        let whole = fs::read_to_string(&path).unwrap();

        let mut writer = MetricsJson::open(&path).unwrap();
        writer.rewind(Some(&mark)).unwrap();
        (4..=5).for_each(|iter| put(&mut writer, iter));
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        writer.rewind(None).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }
}

//! Pending scalars as JSON lines, for `metrics.json` and for `--json` on standard output.

use super::Writer;
use crate::events::{EventStorage, Media, MediaItem};
use crate::progress::Progress;
use crate::run::RunDirError;
use serde_json::{Map, Value as Json, json};
use std::fmt::Arguments;

/// One line.
pub(super) type Line = Map<String, Json>;

/// A number as JSON; one that JSON cannot represent is a string.
pub(super) fn number(value: f64) -> Json {
    serde_json::Number::from_f64(value)
        .map_or_else(|| Json::String(value.to_string()), Json::Number)
}

/// The position of the run and the pending scalars with their last values; `None` if there are none.
pub(super) fn scalars(events: &EventStorage, progress: &Progress) -> Option<Line> {
    let mut line = Line::new();
    line.insert("iter".into(), progress.iter.into());
    line.insert("epoch".into(), progress.epoch.into());
    line.insert("phase".into(), progress.phase.name().into());
    line.insert("samples".into(), progress.samples.into());
    let fixed = line.len();
    for series in events.pending() {
        if let Some(value) = series.latest() {
            line.insert(series.name().to_string(), number(value));
        }
    }
    (line.len() > fixed).then_some(line)
}

/// Prints progress for other programs: one object per line, scalars as in `metrics.json`.
pub struct JsonLines {
    print: fn(Arguments<'_>),
}

impl JsonLines {
    /// Calls `print` with each line.
    pub fn new(print: fn(Arguments<'_>)) -> Self {
        Self { print }
    }
}

impl Writer for JsonLines {
    fn write(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        if let Some(line) = scalars(events, progress) {
            (self.print)(format_args!("{}", Json::Object(line)));
        }
        Ok(())
    }

    fn record(&mut self, events: &EventStorage, progress: &Progress) -> Result<(), RunDirError> {
        self.write(events, progress)
    }

    fn write_media(&mut self, media: &Media) -> Result<(), RunDirError> {
        for (MediaItem { name, iter, .. }, text) in media.texts() {
            let line = json!({ "iter": iter, "name": name, "text": text });
            (self.print)(format_args!("{line}"));
        }
        Ok(())
    }
}

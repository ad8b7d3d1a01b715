//! The results of each validation, one JSON object per line: iMIX's `eval_result.json`.

use super::json_lines::{self, Line};
use super::{MetricsJson, RunFacts, Writer};
use crate::events::{EventStorage, Series};
use crate::progress::Progress;
use crate::run::RunDirError;
use std::path::Path;

/// The prefix of its scalars.
const PHASE: &str = "val/";

/// Opens the file for appending; a resumed run truncates what came after its checkpoint.
pub(super) fn open(path: &Path, _: &RunFacts) -> Result<Box<dyn Writer>, RunDirError> {
    Ok(Box::new(MetricsJson::with_lines("evaluations", path, line)?))
}

/// The last validation with pending scalars: its iteration, and the scalars without their prefix.
fn line(events: &EventStorage, progress: &Progress) -> Option<Line> {
    let is_result = |series: &&Series| series.name().starts_with(PHASE) && !series.is_smooth();
    let results: Vec<&Series> = events.pending().filter(is_result).collect();
    let iter = results.iter().map(|series| series.step()).max()?;
    let mut line = Line::new();
    line.insert("epoch".into(), progress.epoch.into());
    line.insert("iter".into(), iter.into());
    for series in results.into_iter().filter(|series| series.step() == iter) {
        if let (Some(name), Some(value)) = (series.name().strip_prefix(PHASE), series.latest()) {
            line.insert(name.to_owned(), json_lines::number(value));
        }
    }
    Some(line)
}

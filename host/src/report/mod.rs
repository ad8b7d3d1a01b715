//! `report.html`: a run on one page that opens without a network and needs no script.
//!
//! It is made from the run directory alone, so it can be written for any run at any time, also a killed one.

mod chart;
mod clock_time;
mod curves;
mod page;
mod scalars;
mod tables;

use crate::run::{RunDirError, atomic};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// A run, as read from its directory.
struct Run {
    name: String,
    /// `run.json`.
    record: Json,
    /// The charts of its scalars.
    charts: Vec<chart::Chart>,
    /// The number of charts that were omitted.
    left_out: usize,
    /// The curves written by metrics.
    curve_files: Vec<curves::CurveFile>,
    /// `config.toml`.
    config: String,
}

impl Run {
    fn read(folder: &Path) -> Result<Self, RunDirError> {
        let text = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(RunDirError::io("read", &path))
        };
        let record = serde_json::from_str(&text("run.json")?).unwrap_or_default();
        // A run that was stopped before its first line has no scalars.
        let (charts, left_out) = scalars::charts(&text("metrics.json").unwrap_or_default());
        let name = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let config = text("config.toml").unwrap_or_default();
        let curve_files = curves::read(folder);
        Ok(Self { name, record, charts, left_out, curve_files, config })
    }
}

/// The page of the run in a folder.
pub fn html(folder: &Path) -> Result<String, RunDirError> {
    Ok(page::page(&Run::read(folder)?))
}

/// Writes the page of the run in a folder to a file, or to `report.html` in the folder.
///
/// # Errors
/// The folder is not a run directory, or the file cannot be written.
pub fn write(folder: &Path, file: Option<&Path>) -> Result<PathBuf, RunDirError> {
    let file = file.map_or_else(|| folder.join("report.html"), Path::to_owned);
    atomic::write(&file, html(folder)?.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_all_of_a_run_and_needs_nothing_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let write_file =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let record = serde_json::json!({
            "hookrack": "0.1.0", "libtorch": "2.13.0", "command": "train", "config": "configs/a<b.toml",
            "began": 1_794_805_919.5, "seconds": 75.0, "threads": 2, "outcome": "completed",
            "epoch": 3, "iter": 60, "phases": { "train": 60.0, "val": 15.0 },
            "machine": { "name": "box", "cpus": 4, "os": "linux", "arch": "x86_64" },
            "plugins": [{ "name": "ema", "version": "0.1.0", "path": "/p/libema.so", "sha256": "ab12" }],
            "hook_costs": [{ "hook": "EMAIterHook", "calls": 60, "ms": 30.0, "points": {} },
                           { "hook": "Idle", "calls": 0, "ms": 0.0, "points": {} }],
            "metrics": { "val/Accuracy": { "last": 0.9, "best": { "value": 0.95, "epoch": 2 } },
                         "val/Kind": { "last": null, "best": null } },
        });
        write_file("run.json", &record.to_string());
        write_file(
            "metrics.json",
            "{\"iter\":1,\"train/loss\":2.0}\n{\"iter\":2,\"train/loss\":1.0}\n",
        );
        write_file("config.toml", "[model]\ntype = \"<MLP>\"\n");
        let page = html(folder.path()).unwrap();
        for part in [
            "completed",
            "3 epochs, 60 iterations",
            "1:15",
            "2026-11-16 05:11 UTC",
            "val/Accuracy",
            "0.95",
            "loss",
            "<polyline",
            "EMAIterHook",
            "500.0 µs",
            "train",
            "80.0 %",
            "libtorch",
            "2.13.0",
            "ema 0.1.0",
            "ab12",
            "&lt;MLP&gt;",
            "a&lt;b.toml",
            "box",
        ] {
            assert!(page.contains(part), "`{part}` is not in\n{page}");
        }
        for part in ["http:", "https:", "<script", "<link", "src=", "url(", "NaN", "Idle"] {
            assert!(!page.contains(part), "`{part}` is in the page");
        }
    }

    #[test]
    fn a_folder_without_a_run_is_refused_and_a_run_that_was_killed_is_not() {
        let folder = tempfile::tempdir().unwrap();
        assert!(html(folder.path()).is_err());
        std::fs::write(folder.path().join("run.json"), "{\"outcome\": \"running\"}").unwrap();
        assert!(html(folder.path()).unwrap().contains("running"));
    }
}

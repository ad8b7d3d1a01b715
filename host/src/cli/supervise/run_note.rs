//! The file in which a supervised run reports its run directory to the supervisor.

use crate::job::Job;
use crate::run::{RunDir, atomic, json_file};
use hookrack_plugin_api::OnError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The environment variable with the path of the file.
pub(super) const VARIABLE: &str = "HOOKRACK_SUPERVISOR";

/// Written once the run directory is known.
#[derive(Serialize, Deserialize)]
pub(super) struct RunNote {
    /// The run directory.
    pub(super) run: PathBuf,
    /// Hooks whose errors do not end the run and that have no role.
    optional_hooks: Vec<String>,
}

impl RunNote {
    /// Reads the file; `None` if the run has not written it.
    pub(super) fn read(file: &Path) -> Option<Self> {
        json_file::read(file).ok()
    }

    /// Whether the run may continue without a hook: its policy is not `abort`, and it has no role.
    pub(super) fn is_optional(&self, hook: &str) -> bool {
        self.optional_hooks.iter().any(|name| name == hook)
    }
}

/// Writes the file for the supervisor, if there is one.
pub(in crate::cli) fn write_run_note(run: &RunDir, job: &Job) {
    let Some(file) = std::env::var_os(VARIABLE) else { return };
    let optional = job.specs().into_iter().filter(|spec| {
        spec.on_error != OnError::Abort && !spec.points.iter().any(|point| point.is_role())
    });
    let note = RunNote {
        run: run.path().to_owned(),
        optional_hooks: optional.map(|spec| spec.name.clone()).collect(),
    };
    let bytes = serde_json::to_vec(&note).unwrap_or_default();
    if let Err(error) = atomic::write(Path::new(&file), &bytes) {
        tracing::warn!("could not report the run directory to the supervisor: {error}");
    }
}

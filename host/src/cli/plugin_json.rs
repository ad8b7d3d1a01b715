//! `hookrack plugins --json`: one object for each file of the plugin folders.

use crate::plugins::loader::Refusal;
use crate::plugins::{LoadError, PluginFile, PluginSet};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::path::Path;

/// Every file that was found, in the order of the search: those that can be loaded, then the others.
pub(super) fn files(set: &PluginSet) -> Json {
    let ready = set.found().map(|(path, library)| ready(path, library));
    let failed = set.failed.iter().map(|(path, error)| failed(path, error));
    let shadowed = set.shadowed.iter().map(|(path, first)| {
        let reason = format!("{} takes precedence", first.display());
        json!({ "file": file_name(path), "path": path.to_string_lossy(), "state": "shadowed", "reason": reason })
    });
    ready.chain(failed).chain(shadowed).collect()
}

fn ready(path: &Path, library: &PluginFile) -> Json {
    let about = &library.about;
    let hooks: Vec<_> = about.hooks.iter().map(|hook| &hook.name).collect();
    let metrics: Vec<_> = about.metrics.iter().map(|metric| &metric.name).collect();
    json!({
        "file": file_name(path),
        "path": path.to_string_lossy(),
        "state": "ready",
        "name": about.info.name,
        "version": about.info.version,
        "abi": about.abi(),
        "sha256": about.sha256,
        "locked": library.verification.locked,
        "signer": library.verification.signer,
        "warning": library.verification.warning,
        "hooks": hooks,
        "metrics": metrics,
    })
}

fn failed(path: &Path, error: &LoadError) -> Json {
    let state = match error.reason {
        Refusal::Quarantined(_) => "quarantined",
        _ => "refused",
    };
    json!({
        "file": file_name(path),
        "path": path.to_string_lossy(),
        "state": state,
        "step": error.reason.step(),
        "reason": error.reason.to_string(),
        "sha256": error.sha256,
    })
}

fn file_name(path: &Path) -> Option<Cow<'_, str>> {
    Some(path.file_name()?.to_string_lossy())
}

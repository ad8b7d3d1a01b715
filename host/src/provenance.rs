//! The provenance of a run: program, libraries, config, data, hooks. Saved in `run.json` and in every checkpoint.

use crate::job::{Job, Member, MemberSource};
use crate::plugins::PluginFile;
use crate::run::checkpoint::Provenance;
use crate::run::{data_files, to_json};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

/// The provenance of a run of this job, without what only its data tells.
pub fn provenance(job: &Job) -> Provenance {
    let config = job.config.to_toml();
    Provenance {
        hookrack: env!("CARGO_PKG_VERSION").to_owned(),
        libtorch: crate::torch::info::version().to_owned(),
        threads: *job.config.train.threads as u64,
        rank: 0,
        world: 1,
        data: data_files::of_config(&config),
        samples: None,
        config,
        libraries: libraries(job),
        members: job.members.iter().map(member).collect(),
    }
}

/// The libraries that the run uses.
pub fn libraries(job: &Job) -> Vec<Json> {
    let used = |library: &&Arc<PluginFile>| {
        let path = Some(library.about.path.as_path());
        job.members.iter().any(|member| member.spec.library.as_deref() == path)
    };
    let describe = |library: &Arc<PluginFile>| {
        let about = &library.about;
        json!({
            "path": about.path.to_string_lossy(),
            "sha256": about.sha256,
            "name": about.info.name,
            "version": about.info.version,
            "abi": about.abi(),
            "locked": library.verification.locked,
            "signer": library.verification.signer,
        })
    };
    job.inventory.plugin_set.libraries.iter().filter(used).map(describe).collect()
}

fn member(member: &Member) -> Json {
    let kind = match member.source {
        MemberSource::Hook(_) | MemberSource::Callback(_) => "hook",
        MemberSource::Metric(..) => "metric",
    };
    json!({
        "kind": kind,
        "name": member.spec.name,
        "type": member.spec.type_name,
        "level": member.spec.level.0,
        "library": member.spec.library.as_deref().map(Path::to_string_lossy),
        "settings": to_json(&member.settings),
    })
}

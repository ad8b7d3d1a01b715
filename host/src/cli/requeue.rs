//! Requeues an interrupted job in the batch system that ended it.

use crate::train::{Ending, Signal};
use std::process::Command;

/// Asks SLURM to requeue the job if it sent SIGUSR1. The next start resumes with `--resume`.
pub(super) fn requeue(ending: &Ending) {
    let Ending::Interrupted(Signal::User) = ending else { return };
    let Some(job) = std::env::var_os("SLURM_JOB_ID") else { return };
    match Command::new("scontrol").arg("requeue").arg(&job).output() {
        Ok(done) if done.status.success() => {
            tracing::info!("requeued SLURM job {}", job.to_string_lossy());
        }
        Ok(done) => tracing::error!(
            "scontrol requeue {}: {}",
            job.to_string_lossy(),
            String::from_utf8_lossy(&done.stderr).trim()
        ),
        Err(error) => tracing::error!("could not run scontrol: {error}"),
    }
}

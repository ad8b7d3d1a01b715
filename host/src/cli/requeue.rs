//! Hands an interrupted job back to the batch system that told it to end.

use crate::train::{Ending, Signal};
use std::process::Command;

/// Has SLURM start the job again, where it sent the signal that says so. The next start goes on by `--resume`.
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

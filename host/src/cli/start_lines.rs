//! What `hookrack train` prints before it trains.

use crate::engine::FormatTrial;
use crate::engine::weights::LoadReport;
use crate::job::Job;
use crate::run::{PastRun, RunDir};
use crate::torch::kernels;
use crate::train::Parts;
use serde_json::json;
use std::process::ExitCode;

/// Reports that the run is complete, and how to train longer.
pub(super) fn complete(run: &RunDir, past: &PastRun, as_json: bool, is_quiet: bool) -> ExitCode {
    let (path, PastRun { outcome, iter, epoch }) = (run.path(), past);
    if as_json {
        let path = path.to_string_lossy();
        say!("{}", json!({ "run_dir": path, "outcome": outcome, "epoch": epoch, "iter": iter }));
    } else if !is_quiet {
        say!(
            "{} is complete after {epoch} epochs, {iter} iterations: nothing to do\n\
             raise train.max_epochs or train.max_iters to train longer, or choose another folder with --run-dir to start a \
             new run",
            path.display()
        );
    }
    ExitCode::SUCCESS
}

/// Reports what was decided before training: the ranks and layers of a pipeline, the memory format, MKL's instructions, the weights to start from.
pub(super) fn decisions(
    parts: &Parts,
    format: Option<&FormatTrial>,
    loaded: Option<&LoadReport>,
    job: &Job,
    is_quiet: bool,
) {
    for line in parts.stage_lines() {
        tracing::info!("{line}");
        if !is_quiet {
            say!("{line}");
        }
    }
    if let Some(trial) = format {
        memory_format(trial, is_quiet);
    }
    native_kernels(is_quiet);
    if let Some(report) = loaded {
        weights(report, job, is_quiet);
    }
}

/// Reports which memory format was chosen, and why.
fn memory_format(trial: &FormatTrial, is_quiet: bool) {
    let FormatTrial { chosen, contiguous, channels_last, difference } = trial;
    let line = format!(
        "memory_format: {}; forward and backward pass {:.1} ms contiguous, {:.1} ms channels_last",
        chosen.name(),
        contiguous * 1e3,
        channels_last * 1e3
    );
    tracing::info!("{line}, outputs differ by {difference:.1e}");
    if !is_quiet {
        say!("{line}");
    }
}

/// Reports whether kernels use AVX-512 where those of PyTorch do not, or could.
fn native_kernels(is_quiet: bool) {
    if kernels::is_native() {
        tracing::info!("kernels: native (AVX-512)");
        if !is_quiet {
            say!("kernels: native (AVX-512)");
        }
    } else if kernels::has_avx512() {
        tracing::info!("this CPU has AVX-512: training is faster with train.kernels = \"native\"");
    }
}

/// Reports which initial weights were loaded.
fn weights(report: &LoadReport, job: &Job, is_quiet: bool) {
    let path = job.config.weights.as_ref().map(|weights| weights.path.display().to_string());
    let line = format!("weights from {}: {report}", path.unwrap_or_default());
    if report.fits() {
        tracing::info!("{line}");
    } else {
        tracing::warn!("{line}");
    }
    if !is_quiet {
        say!("{line}");
    }
}

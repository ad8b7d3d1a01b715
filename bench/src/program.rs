//! Runs the `hookrack` program built with the benchmarks, and measures its time.

use crate::error::BenchError;
use crate::measured_hooks::{beside_this, workspace};
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The seconds from the start of `hookrack ARGS` in the workspace to its end; it must succeed.
pub(crate) fn seconds<S: AsRef<OsStr>>(args: &[S]) -> Result<f64, BenchError> {
    let program = beside_this("hookrack")?;
    let mut command = Command::new(&program);
    command.args(args).current_dir(workspace()).stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output().map_err(BenchError::file(program))?;
    let time = began.elapsed().as_secs_f64();
    if output.status.success() {
        return Ok(time);
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let words = args.iter().map(|arg| arg.as_ref().to_string_lossy());
    Err(BenchError::Command { command: words.collect::<Vec<_>>().join(" "), why })
}

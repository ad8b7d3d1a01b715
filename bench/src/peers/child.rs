//! A process that is measured from outside: how long it runs, and the most memory it has.

use crate::error::BenchError;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often memory is looked at: rarely enough not to disturb a step.
const PERIOD: Duration = Duration::from_millis(20);

/// A process that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_mins(30);

/// How a process ended.
pub(super) struct Ended {
    pub(super) seconds: f64,
    /// The largest resident memory that was seen, in MiB.
    pub(super) peak: f64,
    pub(super) stdout: String,
    /// The last line that says why it failed; `None` if it succeeded.
    pub(super) failure: Option<String>,
}

/// Runs a command to its end, with one thread for arithmetic. What it prints goes to files in `folder`, which it cannot wait for.
pub(super) fn run(command: &mut Command, folder: &Path) -> Result<Ended, BenchError> {
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| folder.join(name));
    let create = |path: &Path| fs::File::create(path).map_err(BenchError::file(path));
    command.stdin(Stdio::null()).stdout(create(&stdout)?).stderr(create(&stderr)?);
    for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env(variable, "1");
    }
    let program = command.get_program().to_owned();
    let began = Instant::now();
    let child = command.spawn().map_err(BenchError::file(&program))?;
    let (status, peak) = wait(child, PATIENCE).map_err(BenchError::file(&program))?;
    let seconds = began.elapsed().as_secs_f64();
    // Programs may print anything.
    let text = |path: &Path| {
        let bytes = fs::read(path).map_err(BenchError::file(path))?;
        Ok::<_, BenchError>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let failure = match status {
        None => Some(format!("it was killed after {PATIENCE:?}")),
        Some(status) if status.success() => None,
        Some(status) => Some(last_words(&text(&stderr)?, status)),
    };
    Ok(Ended { seconds, peak, stdout: text(&stdout)?, failure })
}

/// Waits for the end, with patience; the status is `None` if that was at an end first. The kernel keeps the peak itself, so that only one
/// in the last moments can be missed.
fn wait(mut child: Child, patience: Duration) -> std::io::Result<(Option<ExitStatus>, f64)> {
    let began = Instant::now();
    let memory = format!("/proc/{}/status", child.id());
    let mut peak = 0.0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((Some(status), peak));
        }
        if began.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok((None, peak));
        }
        let seen = fs::read_to_string(&memory).ok().and_then(|text| peak_of(&text));
        peak = seen.unwrap_or(peak);
        sleep(PERIOD);
    }
}

/// `VmHWM` of `/proc/PID/status`, in MiB.
fn peak_of(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}

/// The last line that is not empty; of a Python program that is the error.
fn last_words(stderr: &str, status: ExitStatus) -> String {
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.map_or_else(|| status.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_kernels_table() {
        let status =
            "Name:\tpython\nVmPeak:\t  999999 kB\nVmHWM:\t  204800 kB\nVmRSS:\t   1024 kB\n";
        assert_eq!(peak_of(status).map(|peak| peak.to_string()).as_deref(), Some("200"));
        assert_eq!(peak_of("Name:\tgone\n"), None);
    }

    #[test]
    fn a_process_that_hangs_is_ended() {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let (status, _) = wait(child, Duration::from_millis(50)).unwrap();
        assert!(status.is_none());
    }

    #[test]
    fn a_failed_process_is_explained_by_its_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo 1; echo Traceback >&2; echo 'No module named x' >&2; exit 1"]);
        let ended = run(&mut command, folder.path()).unwrap();
        assert_eq!(ended.failure.as_deref(), Some("No module named x"));
        assert_eq!(ended.stdout, "1\n");
    }
}

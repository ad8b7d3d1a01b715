//! The rank that failed first, and how.

use signal_hook::low_level::signal_name;
use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// The rank that failed first; the other ranks ended as a consequence.
#[derive(Clone, Debug)]
pub struct RankFailure {
    /// The rank.
    pub rank: usize,
    /// How it ended.
    pub status: ExitStatus,
    /// The end of what it wrote to standard error; empty if it wrote to the terminal itself.
    pub last_lines: Vec<String>,
}

impl RankFailure {
    /// The exit code, or 128 and the number of the signal, as in a shell.
    pub fn exit_code(&self) -> u8 {
        exit_code(self.status)
    }
}

/// The exit code, or 128 and the number of the signal, as in a shell.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

impl fmt::Display for RankFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rank, status, last_lines } = self;
        match status.signal() {
            Some(signal) => {
                let name = signal_name(signal).unwrap_or("a signal");
                write!(f, "rank {rank} was killed by {name}")?;
                if signal == signal_hook::consts::SIGKILL {
                    f.write_str(", possibly by the kernel because it ran out of memory")?;
                }
            }
            None => write!(f, "rank {rank} failed with exit code {}", self.exit_code())?,
        }
        if !last_lines.is_empty() {
            f.write_str("; its last lines:")?;
        }
        last_lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

//! Ends a rank together with its launcher, even if the launcher is killed.

use crate::ranks::LAUNCH_VARIABLE;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, test_kill_process};

/// Asks the kernel to kill this process when its launcher ends. Call it first in a rank; it does nothing in any other process. Returns
/// false if the launcher has already ended.
pub fn end_with_launcher() -> bool {
    let launcher = std::env::var(LAUNCH_VARIABLE).ok().and_then(|pid| pid.parse().ok());
    let Some(launcher) = launcher.and_then(Pid::from_raw) else { return true };
    if getppid() != Some(launcher) {
        // A program that a rank started inherits the variable, and has another parent.
        return test_kill_process(launcher).is_ok();
    }
    // If this fails, a rank still ends when its peers do, only later.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // The launcher may have ended before that call.
    getppid() == Some(launcher)
}

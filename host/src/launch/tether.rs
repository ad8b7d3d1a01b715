//! A rank does not outlive its launcher, even if that one is killed.

use crate::ranks::LAUNCH_VARIABLE;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, test_kill_process};

/// Has the system kill this process when its launcher ends. For a rank to call first of all; does nothing in any other process. Returns false if the
/// launcher is gone already.
pub fn tether() -> bool {
    let launcher = std::env::var(LAUNCH_VARIABLE).ok().and_then(|pid| pid.parse().ok());
    let Some(launcher) = launcher.and_then(Pid::from_raw) else { return true };
    if getppid() != Some(launcher) {
        // A program that a rank started inherits the variable, and has another parent.
        return test_kill_process(launcher).is_ok();
    }
    // Without it a rank ends when its peers do, later.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // It may have ended before that call.
    getppid() == Some(launcher)
}

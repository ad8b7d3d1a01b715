//! Catches `exit()` in the middle of a run: without this, a plugin that calls it would end the run as if it had succeeded.

use super::modules::Frame;
use super::report::{self, CrashInfo};
use super::{prepared, stack};
use std::ptr;
use std::sync::Once;

/// The exit code of a hook that failed.
const HOOK_FAILED: i32 = 4;

pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function is there for as long as the process.
        unsafe { libc::atexit(on_exit) };
    });
}

/// Called by `exit()`. Does nothing after the run has ended.
extern "C" fn on_exit() {
    let Some(prepared) = prepared() else { return };
    let mut addresses = [ptr::null_mut(); stack::MOST];
    let count = stack::addresses(&mut addresses);
    let frames = addresses.map(|at| Frame::at(at.expose_provenance(), &prepared.modules));
    let crash = CrashInfo {
        what: "exit()",
        address: None,
        instruction: None,
        on_training_thread: stack::is_training_thread(),
        frames: &frames[..count],
    };
    report::write(prepared, &crash);
    report::say(prepared, &crash);
    // SAFETY: ends the process; destructors of libraries that are in use do not run.
    unsafe { libc::_exit(HOOK_FAILED) };
}

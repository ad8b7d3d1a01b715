//! Catches `exit()` in the middle of a run: without this, a plugin that calls it would end the run as if it had succeeded.

use super::report::{self, CrashInfo};
use super::{begin_report, loading, prepared, stack};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Once;

/// The exit code of a library that does not load, and that of a hook that failed.
const NOT_LOADED: c_int = 3;
const HOOK_FAILED: c_int = 4;

unsafe extern "C" {
    fn at_quick_exit(function: extern "C" fn()) -> c_int;
    // As `atexit`; the function is passed the exit code.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions are there for as long as the process.
        unsafe {
            libc::atexit(at_exit);
            at_quick_exit(at_end);
        }
    });
}

/// Called by `exit()`.
extern "C" fn at_exit() {
    report_exit("exit()");
}

/// Called by `quick_exit()`.
extern "C" fn at_end() {
    report_exit("quick_exit()");
}

/// Does nothing after the run has ended.
fn report_exit(what: &'static str) {
    let Some(prepared) = prepared().filter(|_| begin_report()) else { return };
    // SAFETY: the report was begun here.
    unsafe {
        let crash = CrashInfo {
            what,
            address: None,
            instruction: None,
            on_training_thread: stack::is_training_thread(),
            frames: stack::frames(prepared, None),
        };
        report::write(prepared, &crash);
        report::say(prepared, &crash);
    }
    let code = if loading::library().is_some() { NOT_LOADED } else { HOOK_FAILED };
    // SAFETY: ends the process; destructors of libraries that are in use do not run.
    unsafe { libc::_exit(code) };
}

/// To be called at the end of `main`: the process ends without the destructors of libraries. Those of a plugin may crash or hang, and its threads
/// may still use what they destroy, when the work is done.
pub fn skip_destructors() {
    // What was registered last is called first.
    // SAFETY: the function is there for as long as the process, and does not use its argument.
    unsafe { on_exit(end_now, ptr::null_mut()) };
}

extern "C" fn end_now(code: c_int, _argument: *mut c_void) {
    // SAFETY: what C libraries have buffered is written; then the process ends.
    unsafe {
        libc::fflush(ptr::null_mut());
        libc::_exit(code);
    }
}

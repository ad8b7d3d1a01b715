//! A process that a plugin has forked: it must not go on with the run, which the process it was forked from does.

use super::Endpoint;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process was forked in a call to a plugin.
static FORKED: AtomicBool = AtomicBool::new(false);

/// The exit code where it does not end by itself: that of a hook that failed.
const HOOK_FAILED: c_int = 4;

pub(super) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

impl Endpoint {
    /// Called in a new process. It ends where the call that has forked it would return.
    pub(in crate::plugins) fn note_fork() {
        if let Some(endpoint) = Self::calling() {
            FORKED.store(true, Ordering::Relaxed);
            endpoint.must_restore.set(true);
        }
    }

    /// Ends this process, without anything that the other threads, which it does not have, may have held.
    #[cold]
    pub(super) fn end_fork(&self) -> ! {
        let said = format!(
            "\nerror: hook `{}` has forked a process that returned from its call: only the process of the run may do that; a forked one \
             must start a program or call _exit()\n",
            self.name
        );
        // SAFETY: the text is there until the call returns; then the process ends.
        unsafe {
            libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len());
            libc::_exit(HOOK_FAILED);
        }
    }
}

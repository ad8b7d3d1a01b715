//! Processes that a plugin forks: they are none of the run's, so that they report nothing, and end where they would go on with it.

use super::PREPARED;
use crate::plugins::services::Endpoint;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::Ordering;

pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function is there for as long as the process.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Called by `fork()` in the new process, on its only thread.
unsafe extern "C" fn in_child() {
    PREPARED.store(ptr::null_mut(), Ordering::Release);
    Endpoint::note_fork();
}

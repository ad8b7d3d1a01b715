//! Saves and restores the handlers of the signals that end a run, which a plugin might replace.

use std::ffi::c_int;
use std::ptr;

/// The handlers of some signals, as they were.
pub struct SignalGuard(Vec<(c_int, libc::sigaction)>);

impl SignalGuard {
    /// Remembers the handlers.
    pub fn of(signals: &[c_int]) -> Self {
        Self(signals.iter().filter_map(|signal| Some((*signal, action(*signal)?))).collect())
    }

    /// Restores those that were replaced, and returns their signals.
    pub fn restore(&self) -> Vec<c_int> {
        let is_other = |(signal, kept): &&(c_int, libc::sigaction)| {
            action(*signal).is_some_and(|now| now.sa_sigaction != kept.sa_sigaction)
        };
        let replaced = self.0.iter().filter(is_other);
        let restore = |(signal, kept): &(c_int, libc::sigaction)| {
            // SAFETY: the handler is the one that was there before.
            unsafe { libc::sigaction(*signal, kept, ptr::null_mut()) };
            *signal
        };
        replaced.map(restore).collect()
    }
}

/// Sets what happens at a signal. The handlers keep to what is allowed in one.
pub(super) fn set_handler(signal: c_int, handler: usize, flags: c_int) {
    // SAFETY: a C struct of numbers and pointers, for which zeros will do, and which is whole before the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}

/// What happens at a signal.
pub(super) fn action(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: a C struct of numbers and pointers, for which zeros will do, and which the call fills.
    let (done, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, ptr::null(), &raw mut action), action)
    };
    (done == 0).then_some(action)
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn other(_signal: c_int) {}

    #[test]
    fn a_handler_that_was_replaced_is_restored_and_told() {
        let guard = SignalGuard::of(&[libc::SIGURG]);
        assert!(guard.restore().is_empty());
        // SAFETY: the handler does nothing.
        unsafe { libc::signal(libc::SIGURG, other as *const () as libc::sighandler_t) };
        assert_eq!(guard.restore(), [libc::SIGURG]);
        assert!(guard.restore().is_empty());
    }
}

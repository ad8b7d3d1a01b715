//! Messages of a plugin in the host's log.
//!
//! `error!`, `warn!`, `info!`, `debug!` and `trace!` format their arguments only if the level is enabled, and
//! may be called from any thread. With the feature `tracing`, events of the `tracing` crate are logged too.
//!
//! A message whose level is disabled costs a load and a comparison. The level is fixed at the start of the
//! run: `info!` and above by default. Every rank logs to standard error; in training rank 0 also logs to
//! `log.txt` in the run directory, and every other rank to a file of its own in the folder `ranks`. An
//! instance may log 1000 lines per second; further ones in that second are dropped, with a warning. On the
//! training thread a line is logged under the name of the hook that is being called, on another thread under
//! that of the library's first instance; before that is created, nothing is logged.

use crate::abi::{Host, LogHandle};
use std::sync::OnceLock;

pub use crate::abi::{LOG_DEBUG, LOG_ERROR, LOG_INFO, LOG_TRACE, LOG_WARN};

static LOG: OnceLock<LogHandle> = OnceLock::new();

/// Connects this library to the host's log; called when the first instance is created.
pub(crate) fn connect(host: Host) {
    let first = LOG.set(host.log()).is_ok();
    #[cfg(feature = "tracing")]
    if first {
        crate::tracing_bridge::install();
    }
    let _ = first;
}

/// Returns whether messages of this level are logged. May be called from any thread; false before the first
/// instance of the library is created.
pub fn enabled(level: u32) -> bool {
    LOG.get().is_some_and(|log| log.enabled(level))
}

/// Logs a message. May be called from any thread.
///
/// `target` is shown at the levels debug and trace. Lines that the log does not accept are lost without an
/// error.
pub fn write(level: u32, target: &str, message: &str) {
    if let Some(log) = LOG.get() {
        log.write(level, target, message);
    }
}

/// Logs a line at a level.
#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ($level:ident, $($arg:tt)*) => {
        if $crate::log::enabled($crate::log::$level) {
            $crate::log::write($crate::log::$level, ::core::module_path!(), &::std::format!($($arg)*));
        }
    };
}

/// Logs an error. Errors that a hook returns are logged by the host.
#[macro_export]
macro_rules! error { ($($arg:tt)*) => { $crate::__log!(LOG_ERROR, $($arg)*) }; }
/// Logs a warning.
#[macro_export]
macro_rules! warn { ($($arg:tt)*) => { $crate::__log!(LOG_WARN, $($arg)*) }; }
/// Logs a message, shown on standard error and in `log.txt`. Not for values of every iteration: log those as
/// scalars.
#[macro_export]
macro_rules! info { ($($arg:tt)*) => { $crate::__log!(LOG_INFO, $($arg)*) }; }
/// Logs a debug message, shown with `-vv`.
#[macro_export]
macro_rules! debug { ($($arg:tt)*) => { $crate::__log!(LOG_DEBUG, $($arg)*) }; }
/// Logs a trace message, shown with `-vvv`.
#[macro_export]
macro_rules! trace { ($($arg:tt)*) => { $crate::__log!(LOG_TRACE, $($arg)*) }; }

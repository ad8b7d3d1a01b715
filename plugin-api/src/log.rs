//! Messages of a plugin in the host's log.
//!
//! `error!`, `warn!`, `info!`, `debug!` and `trace!` format their arguments only if the level is enabled, and may be called from any thread. With the
//! feature `tracing`, events of the `tracing` crate are logged too.

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

/// Whether messages of this level are logged.
pub fn enabled(level: u32) -> bool {
    LOG.get().is_some_and(|log| log.enabled(level))
}

/// Logs a message. May be called from any thread.
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
/// Logs a message, shown on standard error and in `log.txt`.
#[macro_export]
macro_rules! info { ($($arg:tt)*) => { $crate::__log!(LOG_INFO, $($arg)*) }; }
/// Logs a debug message, shown with `-vv`.
#[macro_export]
macro_rules! debug { ($($arg:tt)*) => { $crate::__log!(LOG_DEBUG, $($arg)*) }; }
/// Logs a trace message, shown with `-vvv`.
#[macro_export]
macro_rules! trace { ($($arg:tt)*) => { $crate::__log!(LOG_TRACE, $($arg)*) }; }

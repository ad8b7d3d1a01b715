//! Log lines from a plugin, in the host's log.
//!
//! `info!`, `warn!` and their kin format only when the host listens to that level. With the feature `tracing`, events
//! of the `tracing` crate go the same way.

use crate::abi::Host;
use std::sync::OnceLock;

pub use crate::abi::{LOG_DEBUG, LOG_ERROR, LOG_INFO, LOG_TRACE, LOG_WARN};

static HOST: OnceLock<Host> = OnceLock::new();

/// Sends this library's lines to the host from now on. Made when the first instance is.
pub(crate) fn connect(host: Host) {
    let first = HOST.set(host).is_ok();
    #[cfg(feature = "tracing")]
    if first {
        crate::tracing_bridge::install();
    }
    let _ = first;
}

/// Whether anybody listens to lines of this level.
pub fn enabled(level: u32) -> bool {
    HOST.get().is_some_and(|host| host.log_enabled(level))
}

/// Hands a line over.
pub fn write(level: u32, target: &str, message: &str) {
    if let Some(host) = HOST.get() {
        host.log(level, target, message);
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

/// Logs an error.
#[macro_export]
macro_rules! error { ($($arg:tt)*) => { $crate::__log!(LOG_ERROR, $($arg)*) }; }
/// Logs a warning.
#[macro_export]
macro_rules! warn { ($($arg:tt)*) => { $crate::__log!(LOG_WARN, $($arg)*) }; }
/// Logs information.
#[macro_export]
macro_rules! info { ($($arg:tt)*) => { $crate::__log!(LOG_INFO, $($arg)*) }; }
/// Logs a line for debugging.
#[macro_export]
macro_rules! debug { ($($arg:tt)*) => { $crate::__log!(LOG_DEBUG, $($arg)*) }; }
/// Logs every detail.
#[macro_export]
macro_rules! trace { ($($arg:tt)*) => { $crate::__log!(LOG_TRACE, $($arg)*) }; }

//! The error type of hooks and metrics.

use std::fmt;

/// The error of a hook or metric: a message.
///
/// `?` converts any `std::error::Error`, including its sources; [`bail!`](crate::bail) and
/// [`ensure!`](crate::ensure) create one from a format string. Write messages in lowercase and without a full
/// stop: the host adds hook, library, point, epoch and iteration.
///
/// What happens to the run is decided by `on_error` of the config entry, not by the error. It is only a text,
/// without a source, and does not implement `std::error::Error` itself, so that `?` can convert every type
/// that does.
pub struct Error {
    message: String,
}

/// The result of a hook's methods.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// Adds what was being done: `context: message`. For a lazy message write `map_err(|e| e.context(…))`.
    #[must_use]
    pub fn context(self, doing: impl fmt::Display) -> Self {
        Self { message: format!("{doing}: {}", self.message) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Joins the messages of the error and of its sources: `cannot read x: permission denied`.
impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self { message }
    }
}

/// Returns early with an error made from a format string: `bail!("no gradient for `{name}`")`.
///
/// The function must return a `Result` whose error is that of this crate.
#[macro_export]
macro_rules! bail {
    ($($arg:tt)*) => { return ::core::result::Result::Err($crate::Error::new(::std::format!($($arg)*))) };
}

/// Returns early with an error unless a condition holds: `ensure!(n > 0, "expected labels, found {n}")`.
///
/// The message is formatted only if the condition does not hold: in every iteration it costs the condition.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($arg:tt)*) => { if !$condition { $crate::bail!($($arg)*) } };
}

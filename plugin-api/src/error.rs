//! The error that a hook returns: a message, made from anything that is an error.

use std::fmt;

/// Why a hook or metric could not do its work.
///
/// Any `std::error::Error` turns into it by `?`; [`bail!`](crate::bail) makes one from a text.
pub struct Error {
    message: String,
}

/// What a hook's methods return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The same error, with what was being done put before it.
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

/// Returns early with an error made from a format string.
#[macro_export]
macro_rules! bail {
    ($($arg:tt)*) => { return ::core::result::Result::Err($crate::Error::new(::std::format!($($arg)*))) };
}

/// Returns early with an error where a condition does not hold.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($arg:tt)*) => { if !$condition { $crate::bail!($($arg)*) } };
}

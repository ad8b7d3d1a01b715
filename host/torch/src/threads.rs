//! The number of threads that libtorch uses. Sums depend on it, so runs record it.

use super::error::check;
use super::{Result, TorchError, ffi};

/// Sets the threads that one operator may use.
pub fn set_within_op(count: usize) -> Result<()> {
    let count = positive(count)?;
    // SAFETY: takes numbers; 0 leaves the other setting alone.
    unsafe { check(ffi::hrt_set_threads(count, 0)) }
}

/// Threads that one operator may use.
pub fn within_op() -> usize {
    // SAFETY: reads a number.
    usize::try_from(unsafe { ffi::hrt_threads_within_op() }).unwrap_or(1)
}

/// Threads that run operators side by side.
pub fn between_ops() -> usize {
    // SAFETY: reads a number.
    usize::try_from(unsafe { ffi::hrt_threads_between_ops() }).unwrap_or(1)
}

fn positive(count: usize) -> Result<i32> {
    i32::try_from(count)
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| TorchError::new(&format!("{count} threads requested: must be at least 1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_threads_are_refused() {
        assert!(set_within_op(0).is_err());
        assert!(within_op() >= 1 && between_ops() >= 1);
    }
}

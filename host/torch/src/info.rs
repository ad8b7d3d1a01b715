//! The version of libtorch, and the instruction set that it uses.

use std::ffi::CStr;
use std::ptr;

use super::error::{check, take_text};
use super::{Result, ffi};

/// The version that the host was compiled against, for example `2.13.0`.
pub fn version() -> &'static str {
    // SAFETY: a string literal of the shim's.
    unsafe { CStr::from_ptr(ffi::hrt_version()) }.to_str().unwrap_or("unknown")
}

/// The instruction set that libtorch chose, for example `AVX2`.
pub fn cpu_capability() -> Result<String> {
    let mut text = ptr::null_mut();
    // SAFETY: on success `text` is a string that is ours.
    unsafe {
        check(ffi::hrt_cpu_capability(&raw mut text))?;
        Ok(take_text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_capability_are_reported() {
        assert!(version().starts_with("2."));
        assert!(!cpu_capability().unwrap().is_empty());
    }
}

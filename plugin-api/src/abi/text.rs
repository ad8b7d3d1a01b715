//! Borrowed UTF-8 text.

use abi_stable::StableAbi;

/// Borrowed UTF-8 text: a pointer and a length, no terminating zero.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrStr {
    /// The first byte; may be null when `len` is 0.
    pub ptr: *const u8,
    /// The number of bytes.
    pub len: usize,
}

// SAFETY: the text behind it is immutable for as long as the lender promised; sharing a pointer to it races with nothing.
unsafe impl Send for HrStr {}
// SAFETY: as above.
unsafe impl Sync for HrStr {}

impl HrStr {
    /// No text.
    pub const EMPTY: Self = Self { ptr: std::ptr::null(), len: 0 };

    /// Lends `text`.
    pub const fn new(text: &str) -> Self {
        Self { ptr: text.as_ptr(), len: text.len() }
    }

    /// The text, with what is not UTF-8 replaced.
    ///
    /// # Safety
    /// The lender's promise must still hold: `ptr` points to `len` readable bytes, or `len` is 0.
    pub unsafe fn to_lossy<'a>(self) -> std::borrow::Cow<'a, str> {
        if self.len == 0 || self.ptr.is_null() {
            return std::borrow::Cow::Borrowed("");
        }
        // SAFETY: the caller vouches for pointer and length.
        let bytes = unsafe { std::slice::from_raw_parts(self.ptr, self.len) };
        String::from_utf8_lossy(bytes)
    }
}

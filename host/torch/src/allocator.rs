//! The C allocator, which libtorch takes the memory of its tensors from.

use super::ffi;

/// Keeps freed memory in the process instead of returning it to the system at once: every step of training frees large
/// tensors and allocates them again, and fresh memory comes page by page. Returns false if the allocator is not
/// glibc's, or the user has set its thresholds by `MALLOC_MMAP_THRESHOLD_` or `MALLOC_TRIM_THRESHOLD_`.
pub fn keep_freed_memory() -> bool {
    // SAFETY: sets two numbers of the allocator, which any thread may do at any time.
    unsafe { ffi::hrt_keep_freed_memory() != 0 }
}

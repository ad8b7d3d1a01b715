//! The C allocator, which libtorch takes the memory of its tensors from.

use super::ffi;

/// Keeps freed memory in the process instead of returning it to the system at once: every step of training frees large
/// tensors and allocates them again, and fresh memory comes page by page. Returns false if the allocator is not
/// glibc's, or the user has set its thresholds by `MALLOC_MMAP_THRESHOLD_` or `MALLOC_TRIM_THRESHOLD_`.
pub fn keep_freed_memory() -> bool {
    // SAFETY: sets two numbers of the allocator, which any thread may do at any time.
    unsafe { ffi::hrt_keep_freed_memory() != 0 }
}

/// The memory that is allocated at a moment, by all threads.
#[derive(Debug, Clone, Copy)]
pub struct Allocated(u32);

impl Allocated {
    /// Now.
    pub fn now() -> Self {
        // SAFETY: reads the counters of the allocator, under its own locks.
        let info = unsafe { libc::mallinfo() };
        // The counters are bytes modulo 2^32: in small blocks, and in blocks of their own.
        Self(info.uordblks.cast_unsigned().wrapping_add(info.hblkhd.cast_unsigned()))
    }

    /// Bytes that were allocated since then, less those that were freed, up to 2 GiB; 0 if more were freed.
    pub fn growth(self) -> usize {
        let grown = Self::now().0.wrapping_sub(self.0).cast_signed();
        usize::try_from(grown).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Kind, Tensor};

    #[test]
    fn growth_is_that_of_tensors_that_are_alive() {
        let before = Allocated::now();
        let kept = Tensor::zeros([1 << 20], (Kind::Float, tch::Device::Cpu));
        drop(Tensor::zeros([1 << 21], (Kind::Float, tch::Device::Cpu)));
        let grown = before.growth();
        // 4 MiB, and the allocator's own few bytes.
        assert!((4 << 20..5 << 20).contains(&grown), "{grown}");
        drop(kept);
        assert!(before.growth() < 1 << 20, "{}", before.growth());
    }
}

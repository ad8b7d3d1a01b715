//! The allocator that libtorch takes the memory of its tensors from.

use super::ffi;

/// Keeps the memory of freed tensors, by size, for those of the next step, and asks glibc to keep what else is freed: fresh memory comes
/// from the system page by page. Returns false if the heap is not glibc's, or the user has set its thresholds by `MALLOC_MMAP_THRESHOLD_` or
/// `MALLOC_TRIM_THRESHOLD_`; the memory of tensors is kept either way.
pub fn keep_freed_memory() -> bool {
    // SAFETY: replaces libtorch's allocator, whose tensors remember how they are freed, and sets two numbers of the heap's: any thread may do
    // so at any time.
    unsafe { ffi::hrt_keep_freed_memory() != 0 }
}

/// The memory that is allocated at a moment, by all threads.
#[derive(Debug, Clone, Copy)]
pub struct Allocated(u32);

impl Allocated {
    /// Now.
    pub fn now() -> Self {
        // SAFETY: both read counters, under locks of their own.
        let (info, unused) = unsafe { (libc::mallinfo(), ffi::hrt_unused_memory()) };
        // The counters are bytes modulo 2^32: in small blocks, and in blocks of their own.
        let heap = info.uordblks.cast_unsigned().wrapping_add(info.hblkhd.cast_unsigned());
        #[expect(clippy::cast_possible_truncation, reason = "bytes modulo 2^32")]
        Self(heap.wrapping_sub(unused as u32))
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

    fn floats(count: i64) -> Tensor {
        Tensor::zeros([count], (Kind::Float, tch::Device::Cpu))
    }

    fn assert_growth_is_that_of_tensors_that_are_alive() {
        let before = Allocated::now();
        let kept = floats(1 << 20);
        drop(floats(1 << 21));
        let grown = before.growth();
        // 4 MiB, and the allocator's own few bytes.
        assert!((4 << 20..5 << 20).contains(&grown), "{grown}");
        drop(kept);
        assert!(before.growth() < 1 << 20, "{}", before.growth());
    }

    #[test]
    fn growth_is_that_of_tensors_that_are_alive_also_if_freed_memory_is_kept() {
        assert_growth_is_that_of_tensors_that_are_alive();
        keep_freed_memory();
        assert_growth_is_that_of_tensors_that_are_alive();
    }

    #[test]
    fn a_tensor_gets_the_memory_of_a_freed_one_of_its_size() {
        keep_freed_memory();
        for count in [1, 7, 1000, 300_000] {
            let first = floats(count);
            let place = first.data_ptr();
            drop(first);
            let second = floats(count);
            assert_eq!(second.data_ptr(), place, "{count}");
            assert_eq!(place as usize % 64, 0, "vectors are aligned");
            assert_ne!(floats(count).data_ptr(), place, "it is in use");
        }
    }

    #[test]
    fn tensors_of_ever_new_sizes_do_not_pile_up() {
        keep_freed_memory();
        // 3 GiB together, each freed before the next; a quarter more than the largest may stay.
        let mut most = 0;
        for mebibytes in 1..=80 {
            drop(floats(mebibytes << 18));
            // SAFETY: reads a counter, under a lock of its own.
            most = most.max(unsafe { ffi::hrt_unused_memory() });
        }
        assert!(most < 256 << 20, "{most} bytes are kept");
    }
}

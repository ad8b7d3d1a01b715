//! Which kernels are used: those of PyTorch on the same machine, or the fastest that the CPU can run.
//!
//! libtorch multiplies matrices with MKL. On a CPU that is not Intel's, MKL uses AVX2 at most, even if the CPU has AVX-512. It asks `mkl_serv_intel_cpu_true`, once. libtorch exports that
//! symbol, so a program may define its own: the one here answers as MKL's does, unless [`use_native`] was called.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

use super::ffi;

const NAME: &CStr = c"mkl_serv_intel_cpu_true";

static IS_NATIVE: AtomicBool = AtomicBool::new(false);
static WAS_ASKED: AtomicBool = AtomicBool::new(false);

/// Uses AVX-512 if this CPU has it: MKL's kernels, also on CPUs that are not Intel's, and our own for small [linear layers](super::linear),
/// [cross entropy](super::cross_entropy) and [batch norms](super::batch_norm). The last bits of results then differ from those of PyTorch on the same CPU.
///
/// Returns false if that is too late for MKL: it has been called, and keeps the instructions that it chose.
pub fn use_native() -> bool {
    IS_NATIVE.store(true, Ordering::Relaxed);
    // SAFETY: sets a flag; they are used only on CPUs that have their instructions.
    unsafe { ffi::hrt_use_native_kernels(has_avx512()) };
    !is_native() || is_intel() || !WAS_ASKED.load(Ordering::Relaxed)
}

/// Whether [`use_native`] was called, on a CPU where that makes a difference.
pub fn is_native() -> bool {
    IS_NATIVE.load(Ordering::Relaxed) && has_avx512()
}

/// Whether this CPU has the instructions of AVX-512 that MKL and our own kernel need.
pub fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What MKL's own function returns; true if there is no MKL, so that nothing changes.
fn is_intel() -> bool {
    // SAFETY: looks for the name in the libraries of this program; if it is there, it is MKL's function, which takes nothing.
    unsafe {
        let own = libc::dlsym(libc::RTLD_NEXT, NAME.as_ptr());
        own.is_null() || std::mem::transmute::<*mut _, extern "C" fn() -> c_int>(own)() != 0
    }
}

/// Called by MKL: whether the CPU is Intel's.
#[unsafe(no_mangle)]
extern "C" fn mkl_serv_intel_cpu_true() -> c_int {
    WAS_ASKED.store(true, Ordering::Relaxed);
    c_int::from(is_intel() || is_native())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tch::{Kind, Tensor};

    /// Uses our own kernels, in one thread, until it is dropped.
    pub(crate) struct Native(i32);

    impl Native {
        pub(crate) fn used() -> Self {
            // SAFETY: sets a flag, on a CPU that has the instructions.
            unsafe { ffi::hrt_use_native_kernels(has_avx512()) };
            let threads = tch::get_num_threads();
            tch::set_num_threads(1);
            Self(threads)
        }
    }

    impl Drop for Native {
        fn drop(&mut self) {
            // SAFETY: sets a flag.
            unsafe { ffi::hrt_use_native_kernels(false) };
            tch::set_num_threads(self.0);
        }
    }

    #[test]
    fn mkl_finds_the_function_of_the_program() {
        let ours = mkl_serv_intel_cpu_true as extern "C" fn() -> c_int;
        // SAFETY: looks up a name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, NAME.as_ptr()) };
        assert_eq!(found, ours as *mut _);
        let ones = Tensor::ones([4, 4], (Kind::Float, tch::Device::Cpu));
        let four = ones.matmul(&ones).double_value(&[0, 0]);
        assert!((four - 4.0).abs() < f64::EPSILON, "{four}");
        assert!(WAS_ASKED.load(Ordering::Relaxed), "MKL did not ask");
        assert!(!is_native());
        assert_eq!(use_native(), !has_avx512() || is_intel(), "it is too late for MKL");
        // For the tests that follow.
        IS_NATIVE.store(false, Ordering::Relaxed);
        // SAFETY: sets a flag.
        unsafe { ffi::hrt_use_native_kernels(false) };
    }
}

//! The instructions that MKL uses, the library that libtorch multiplies matrices with.
//!
//! On a CPU that is not Intel's, MKL uses AVX2 at most, even if the CPU has AVX-512. It asks `mkl_serv_intel_cpu_true`, once. libtorch exports that
//! symbol, so a program may define its own: the one here answers as MKL's does, unless [`use_native`] was called.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

const NAME: &CStr = c"mkl_serv_intel_cpu_true";

static IS_NATIVE: AtomicBool = AtomicBool::new(false);
static WAS_ASKED: AtomicBool = AtomicBool::new(false);

/// Lets MKL use AVX-512 on every CPU that has it. Results then differ in their last bits from those of PyTorch on the same CPU.
///
/// Returns false if that is too late: MKL has been called, and keeps the instructions that it chose.
pub fn use_native() -> bool {
    IS_NATIVE.store(true, Ordering::Relaxed);
    !can_differ() || !WAS_ASKED.load(Ordering::Relaxed)
}

/// Whether MKL was made to use AVX-512 where it would not by itself.
pub fn is_native() -> bool {
    IS_NATIVE.load(Ordering::Relaxed) && can_differ()
}

/// Whether this CPU has AVX-512 and MKL does not use it by itself.
pub fn can_differ() -> bool {
    has_avx512() && !is_intel()
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
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
mod tests {
    use super::*;
    use tch::{Kind, Tensor};

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
        assert_eq!(use_native(), !can_differ(), "it is too late for MKL");
    }
}

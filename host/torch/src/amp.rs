//! Mixed precision: operators in half the bits where that is safe, and gradients of a scaled loss.

use std::marker::PhantomData;

use tch::Device;

use super::error::check;
use super::{Arg, Op, Result, Return, Returns, TensorList, TorchError, ffi};

/// A number format of 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Brain float: the range of 32 bits, 8 bits of precision.
    Bf16,
    /// IEEE half: 11 bits of precision, nothing above 65504.
    Fp16,
}

/// The previous state of autocast. Must match the struct in `shim/amp.cpp`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AutocastBefore {
    dtype: i32,
    enabled: bool,
}

/// While it lives, operators of this thread run in 16 bits where libtorch considers that safe.
#[derive(Debug)]
#[must_use = "autocast ends when the guard is dropped"]
pub struct Autocast {
    cuda: bool,
    before: AutocastBefore,
    /// Autocast belongs to a thread, and so does the guard.
    stays: PhantomData<*const ()>,
}

impl Autocast {
    /// Enables autocast for tensors on a device.
    pub fn enter(device: Device, half: Half) -> Result<Self> {
        let cuda = match device {
            Device::Cpu => false,
            Device::Cuda(_) => true,
            other => return Err(TorchError::new(&format!("no autocast on {other:?}"))),
        };
        let mut before = AutocastBefore::default();
        // SAFETY: sets thread-local values; `before` is ours to write.
        unsafe {
            check(ffi::hrt_autocast_enter(cuda, half == Half::Fp16, &raw mut before))?;
        }
        Ok(Self { cuda, before, stays: PhantomData })
    }
}

impl Drop for Autocast {
    fn drop(&mut self) {
        // SAFETY: sets thread-local values, on the thread that `enter` was called on.
        let left = unsafe { check(ffi::hrt_autocast_leave(self.cuda, &raw const self.before)) };
        if let Err(error) = left {
            tracing::error!(%error, "autocast could not be ended");
        }
    }
}

/// Multiplies every gradient by `factor`; true if one of them is not finite. Synchronizes with the device.
pub fn unscale_(grads: &TensorList, factor: f64) -> Result<bool> {
    let mut found_inf = false;
    // SAFETY: the list lives through the call, the flag is ours to write.
    unsafe { check(ffi::hrt_list_unscale(grads.as_raw(), factor, &raw mut found_inf))? };
    Ok(found_inf)
}

/// Whether this processor has instructions for the format. Without them libtorch still computes, but
/// about 40 times slower than with 32 bits.
pub fn cpu_is_made_for(half: Half) -> Result<bool> {
    let op = Op::find(match half {
        Half::Bf16 => "mkldnn::_is_mkldnn_bf16_supported",
        Half::Fp16 => "mkldnn::_is_mkldnn_fp16_supported",
    })?;
    let mut returns = Returns::default();
    op.call(&[] as &[Arg<'_>], &mut returns)?;
    Ok(matches!(returns.take(0), Return::Bool(true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Kind, Tensor};

    #[test]
    fn products_are_in_16_bits_while_the_guard_lives() {
        let x = Tensor::ones([2, 2], (Kind::Float, Device::Cpu));
        for (half, kind) in [(Half::Bf16, Kind::BFloat16), (Half::Fp16, Kind::Half)] {
            {
                let _outer = Autocast::enter(Device::Cpu, half).unwrap();
                assert_eq!(x.matmul(&x).kind(), kind);
                {
                    let _inner = Autocast::enter(Device::Cpu, Half::Bf16).unwrap();
                    assert_eq!(x.matmul(&x).kind(), Kind::BFloat16);
                }
                assert_eq!(x.matmul(&x).kind(), kind, "the outer scope is restored");
            }
            assert_eq!(x.matmul(&x).kind(), Kind::Float);
        }
    }

    #[test]
    fn gradients_of_mixed_types_are_unscaled_and_searched() {
        let grads = [
            Tensor::from_slice(&[8.0_f32, 4.0]),
            Tensor::from_slice(&[2.0_f64]),
            Tensor::from_slice(&[16.0_f32]),
        ];
        let list: TensorList = grads.iter().collect();
        assert!(!unscale_(&list, 0.5).unwrap());
        assert_eq!(grads[0], Tensor::from_slice(&[4.0_f32, 2.0]));
        assert_eq!(grads[1], Tensor::from_slice(&[1.0_f64]));
        for wrong in [f32::INFINITY, f32::NAN] {
            let list: TensorList = [&grads[1], &Tensor::from_slice(&[wrong])].into_iter().collect();
            assert!(unscale_(&list, 1.0).unwrap());
        }
        assert!(!unscale_(&TensorList::default(), 1.0).unwrap());
    }

    #[test]
    fn the_processor_is_asked() {
        for half in [Half::Bf16, Half::Fp16] {
            cpu_is_made_for(half).unwrap();
        }
    }
}

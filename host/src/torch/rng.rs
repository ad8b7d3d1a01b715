//! libtorch's default random numbers on the CPU: seed them, save them, put them back.

use std::ptr;

use tch::{Kind, Tensor};

use super::error::check;
use super::{Result, TorchError, ffi};

/// Seeds the default generators of all devices.
pub fn seed(seed: u64) {
    // libtorch reads the same 64 bits as a number with a sign.
    tch::manual_seed(i64::from_ne_bytes(seed.to_ne_bytes()));
}

/// The whole state of the default CPU generator; opaque bytes of libtorch's.
pub fn state() -> Result<Vec<u8>> {
    let mut out = ptr::null_mut();
    // SAFETY: on success `out` is a new tensor that is ours.
    let state = unsafe {
        check(ffi::hrt_rng_state(&raw mut out))?;
        Tensor::from_ptr(out)
    };
    Vec::try_from(state).map_err(TorchError::from)
}

/// Puts a state back that [`state`] gave.
pub fn set_state(state: &[u8]) -> Result<()> {
    let length = i64::try_from(state.len()).unwrap_or(i64::MAX);
    let tensor = Tensor::f_from_data_size(state, &[length], Kind::Uint8)?;
    // SAFETY: the tensor lives through the call; libtorch checks its size.
    unsafe { check(ffi::hrt_rng_set_state(tensor.as_ptr())) }
}

/// Held by every test that draws random numbers: the generator is one for all threads.
#[cfg(test)]
pub(crate) static TEST_LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_state_repeats_the_numbers() {
        let _alone = TEST_LOCK.lock();
        let draw = || Tensor::randn([17], (Kind::Float, tch::Device::Cpu));
        seed(7);
        let _ = draw();
        let saved = state().unwrap();
        let first = draw();
        set_state(&saved).unwrap();
        assert_eq!(first, draw());
        assert_ne!(first, draw());
    }

    #[test]
    fn a_state_of_the_wrong_size_is_refused() {
        assert!(set_state(&[1, 2, 3]).is_err());
    }
}

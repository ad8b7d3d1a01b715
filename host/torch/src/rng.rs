//! libtorch's default random number generators: seeding, saving and restoring.

use std::ffi::c_int;
use std::ptr;

use tch::{Device, Kind, Tensor};

use super::error::check;
use super::{Result, TorchError, ffi};

/// Seeds the default generators of all devices.
pub fn seed(seed: u64) {
    // libtorch reads the same 64 bits as a number with a sign.
    tch::manual_seed(i64::from_ne_bytes(seed.to_ne_bytes()));
}

/// The complete states of the default generators that a run uses; opaque bytes of libtorch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RngState {
    /// The processor's.
    pub cpu: Vec<u8>,
    /// That of the run's device; `None` for the CPU.
    pub cuda: Option<Vec<u8>>,
}

/// The current states, for a run on a device.
pub fn state(device: Device) -> Result<RngState> {
    let cuda = cuda_index(device).map(generator).transpose()?;
    Ok(RngState { cpu: generator(CPU)?, cuda })
}

/// Restores what [`state`] returned. A device without a saved state keeps its own.
pub fn set_state(state: &RngState, device: Device) -> Result<()> {
    set_generator(CPU, &state.cpu)?;
    match (cuda_index(device), &state.cuda) {
        (Some(index), Some(cuda)) => set_generator(index, cuda),
        _ => Ok(()),
    }
}

/// The shim's number for the processor.
const CPU: c_int = -1;

fn cuda_index(device: Device) -> Option<c_int> {
    match device {
        Device::Cuda(index) => Some(c_int::try_from(index).unwrap_or(c_int::MAX)),
        _ => None,
    }
}

fn generator(cuda: c_int) -> Result<Vec<u8>> {
    let mut out = ptr::null_mut();
    // SAFETY: on success `out` is a new tensor that is ours.
    let state = unsafe {
        check(ffi::hrt_rng_state(cuda, &raw mut out))?;
        Tensor::from_ptr(out)
    };
    Vec::try_from(state).map_err(TorchError::from)
}

fn set_generator(cuda: c_int, state: &[u8]) -> Result<()> {
    let length = i64::try_from(state.len()).unwrap_or(i64::MAX);
    let tensor = Tensor::f_from_data_size(state, &[length], Kind::Uint8)?;
    // SAFETY: the tensor lives through the call; libtorch checks its size.
    unsafe { check(ffi::hrt_rng_set_state(cuda, tensor.as_ptr())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_state_repeats_the_numbers() {
        let draw = || Tensor::randn([17], (Kind::Float, Device::Cpu));
        seed(7);
        let _ = draw();
        let saved = state(Device::Cpu).unwrap();
        let first = draw();
        set_state(&saved, Device::Cpu).unwrap();
        assert_eq!(first, draw());
        assert_ne!(first, draw());
    }

    #[test]
    fn a_state_of_the_wrong_size_is_refused() {
        let short = RngState { cpu: vec![1, 2, 3], cuda: None };
        assert!(set_state(&short, Device::Cpu).is_err());
    }
}

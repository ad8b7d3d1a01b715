//! `train.device`: where the model and the batches are.

use tch::{Cuda, Device};

use super::error::{EngineError, Result};

/// Whether libtorch can compute there.
pub(super) fn check(device: Device) -> Result<()> {
    let Device::Cuda(index) = device else { return Ok(()) };
    let count = usize::try_from(Cuda::device_count()).unwrap_or(0);
    let missing = missing(index, tch::utils::has_cudart(), count);
    missing.map_or(Ok(()), |why| Err(EngineError::Device { device: format!("cuda:{index}"), why }))
}

/// Why the CUDA device cannot be used; `None` if it can.
fn missing(index: usize, has_runtime: bool, count: usize) -> Option<String> {
    match count {
        _ if index < count => None,
        _ if !has_runtime => Some("this libtorch was built without CUDA".into()),
        0 => Some("libtorch found no CUDA device, or no driver for it".into()),
        1 => Some("there is one CUDA device, cuda:0".into()),
        _ => Some(format!("there are {count} CUDA devices, cuda:0 to cuda:{}", count - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_reported() {
        assert_eq!(missing(1, true, 2), None);
        assert!(missing(0, false, 0).unwrap().contains("without CUDA"));
        assert!(missing(0, true, 0).unwrap().contains("no CUDA device"));
        assert!(missing(2, true, 1).unwrap().contains("one CUDA device"));
        assert!(missing(9, true, 4).unwrap().contains("cuda:0 to cuda:3"));
    }

    #[test]
    fn the_processor_is_always_there_and_the_hundredth_card_never() {
        assert_eq!(check(Device::Cpu), Ok(()));
        assert!(check(Device::Cuda(99)).unwrap_err().to_string().starts_with("cuda:99"));
    }
}

//! A loaded TorchScript file: its tensors by name, its forward pass, its train and eval mode.

use std::collections::HashSet;
use std::path::Path;
use std::ptr::{self, NonNull};

use tch::{Device, Tensor};

use super::error::{check, take_text};
use super::{Result, TensorList, TorchError, ffi};

/// A loaded TorchScript module.
#[derive(Debug)]
pub struct Script {
    raw: NonNull<ffi::RawScript>,
}

// SAFETY: owned alone; libtorch's modules are not bound to a thread.
unsafe impl Send for Script {}

/// Tensors with their names, in the module's order.
pub type Named = Vec<(String, Tensor)>;

impl Script {
    /// Reads a file that `torch.jit.save` wrote, with its tensors on a device.
    pub fn load(path: &Path, device: Device) -> Result<Self> {
        super::start();
        let (cuda, index) = match device {
            Device::Cpu => (false, 0),
            Device::Cuda(index) => (true, i8::try_from(index).unwrap_or(i8::MAX)),
            other => return Err(TorchError::new(&format!("no TorchScript on {other:?}"))),
        };
        let path = path.as_os_str().as_encoded_bytes();
        let mut raw = ptr::null_mut();
        // SAFETY: the path's bytes live until the call returns, and `raw` is written only on success.
        unsafe {
            let start = path.as_ptr().cast();
            check(ffi::hrt_script_load(start, path.len(), cuda, index, &raw mut raw))?;
        }
        NonNull::new(raw)
            .map(|raw| Self { raw })
            .ok_or_else(|| TorchError::new("a module was loaded but not handed over"))
    }

    /// Parameters and buffers under their names in Python. A tensor with several names is listed once.
    pub fn tensors(&self) -> Result<(Named, Named)> {
        let (params, buffers) = (TensorList::default(), TensorList::default());
        let (mut names, mut buffer_names) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: module and lists live through the call; on success both texts are ours.
        let (names, buffer_names) = unsafe {
            check(ffi::hrt_script_tensors(
                self.raw.as_ptr(),
                params.as_raw(),
                &raw mut names,
                buffers.as_raw(),
                &raw mut buffer_names,
            ))?;
            (take_text(names), take_text(buffer_names))
        };
        Ok((named(&names, &params), named(&buffer_names, &buffers)))
    }

    /// An operator that behaves differently in training, but whose flag is a constant in the graph. That is what
    /// `torch.jit.trace` leaves: train and eval mode then have no effect.
    pub fn frozen_op(&self) -> Result<Option<String>> {
        let mut text = ptr::null_mut();
        // SAFETY: the module lives through the call; a text that is not null is ours.
        unsafe {
            check(ffi::hrt_script_frozen_op(self.raw.as_ptr(), &raw mut text))?;
            Ok((!text.is_null()).then(|| take_text(text)))
        }
    }

    /// Switches to train or eval mode, in all parts of the module.
    pub fn set_train(&self, on: bool) -> Result<()> {
        // SAFETY: the module lives through the call, and `Script` is not `Sync`: nobody else is in it.
        unsafe { check(ffi::hrt_script_train(self.raw.as_ptr(), on)) }
    }

    /// Calls `forward` with one tensor, which must return one tensor.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut out = ptr::null_mut();
        // SAFETY: module and input live through the call; on success `out` is a new tensor that is ours.
        unsafe {
            check(ffi::hrt_script_forward(self.raw.as_ptr(), input.as_ptr(), &raw mut out))?;
            Ok(Tensor::from_ptr(out))
        }
    }
}

/// A weight that two layers share is listed once, under its first name.
fn named(names: &str, list: &TensorList) -> Named {
    let mut told = HashSet::new();
    let is_new =
        |(_, tensor): &(String, Tensor)| tensor.numel() == 0 || told.insert(tensor.data_ptr());
    names.lines().map(str::to_owned).zip(list.iter()).filter(is_new).collect()
}

impl Drop for Script {
    fn drop(&mut self) {
        // SAFETY: made by `load`, freed once.
        unsafe { ffi::hrt_script_free(self.raw.as_ptr()) };
    }
}

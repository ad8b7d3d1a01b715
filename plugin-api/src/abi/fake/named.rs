//! Tensors by name and second models of the fake host.

use super::{Caller, functions, table};
use crate::abi::{HrStatus, HrStr, HrTensor, HrValue};
use crate::error::Error;
use std::ffi::c_void;

pub(super) mod named_tensors {
    use super::{Caller, Error, HrStatus, HrStr, HrTensor, c_void, functions, table};
    table!(NamedTensorTable { load, take, put, tensor, remove });

    functions! {
        read load(world, _, path: String) -> usize {
            let file = world.files.get(&path).ok_or_else(|| {
                Error::new(format!("no file `{path}`: give one with FakeTrainer::tensor_file"))
            })?;
            world.loaded = file.iter().map(|(name, it)| (name.clone(), Some(it.copy()))).collect();
            Ok(world.loaded.len())
        }
        call put(world, _, key: String, tensor: HrTensor) {
            let tensor = world.tensor(tensor)?;
            world.shared.insert(key, tensor);
            Ok(())
        }
        find tensor(world, _, key: String) -> HrTensor {
            let shared = world.shared.get(&key).cloned();
            Ok(shared.map(|tensor| world.give(tensor)))
        }
    }

    unsafe extern "C" fn take(
        host: *mut c_void,
        index: usize,
        name: *mut HrStr,
        tensor: *mut HrTensor,
    ) -> HrStatus {
        // SAFETY: a hook calls with the pointer of its handle.
        let caller = unsafe { Caller::of(host) };
        let taken = caller.answer(|world, _| {
            let Some((_, entry)) = world.loaded.get_mut(index) else { return Ok(None) };
            let Some(taken) = entry.take() else { return Ok(None) };
            let handle = world.give(taken);
            Ok(Some((HrStr::new(&world.loaded[index].0), handle)))
        });
        match taken {
            Ok(Some((text, handle))) => {
                // SAFETY: a hook gives a place for each; the name lives until the next `load`.
                unsafe { (name.write(text), tensor.write(handle)) };
                HrStatus::OK
            }
            Ok(None) => HrStatus::ABSENT,
            Err(status) => status,
        }
    }

    unsafe extern "C" fn remove(host: *mut c_void, key: HrStr) -> HrStatus {
        // SAFETY: a hook calls with the pointer of its handle; it lends the key until this returns.
        let (caller, key) = unsafe { (Caller::of(host), key.to_lossy()) };
        match caller.answer(|world, _| Ok(world.shared.remove(key.as_ref()).is_some())) {
            Ok(true) => HrStatus::OK,
            Ok(false) => HrStatus::ABSENT,
            Err(status) => status,
        }
    }
}

pub(super) mod models {
    use super::{Caller, Error, HrStatus, HrTensor, HrValue, c_void, functions, table};
    table!(ModelTable { build, forward });

    const ABSENT: &str = "no second model: give one with FakeTrainer::second_model";

    functions! {
        read forward(world, _, _model: u64, input: HrTensor) -> HrTensor {
            let input = world.tensor(input)?;
            let model = world.second_model.as_mut().ok_or_else(|| Error::new(ABSENT))?;
            let output = model(&input)?;
            Ok(world.give(output))
        }
    }

    /// The model is the function set by the test, regardless of the table.
    unsafe extern "C" fn build(
        host: *mut c_void,
        _settings: *const HrValue,
        model: *mut u64,
    ) -> HrStatus {
        // SAFETY: a hook calls with the pointer of its handle.
        let caller = unsafe { Caller::of(host) };
        let built = caller.answer(|world, _| {
            crate::ensure!(world.second_model.is_some(), "{ABSENT}");
            Ok(())
        });
        match built {
            Ok(()) => {
                // SAFETY: a hook gives a place for one number.
                unsafe { model.write(0) };
                HrStatus::OK
            }
            Err(status) => status,
        }
    }
}

//! Tensors by name and second models of the fake host.

use super::{functions, table};
use crate::abi::{HrStr, HrTensor, HrValue};
use crate::error::Error;

pub(super) mod named_tensors {
    use super::{Error, HrStr, HrTensor, functions, table};
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
        has take(world, _, index: usize, name: *mut HrStr, tensor: *mut HrTensor) {
            let entry = world.loaded.get_mut(index).and_then(|(_, entry)| entry.take());
            let Some(taken) = entry else { return Ok(false) };
            let handle = world.give(taken);
            // SAFETY: a hook gives a place for each; the name lives until the next `load`.
            unsafe { (name.write(HrStr::new(&world.loaded[index].0)), tensor.write(handle)) };
            Ok(true)
        }
        has remove(world, _, key: String) { Ok(world.shared.remove(&key).is_some()) }
    }
}

pub(super) mod models {
    use super::{Error, HrTensor, HrValue, functions, table};
    table!(ModelTable { build, forward });

    const ABSENT: &str = "no second model: give one with FakeTrainer::second_model";

    functions! {
        read forward(world, _, _model: u64, input: HrTensor) -> HrTensor {
            let input = world.tensor(input)?;
            let model = world.second_model.as_mut().ok_or_else(|| Error::new(ABSENT))?;
            let output = model(&input)?;
            Ok(world.give(output))
        }
        // The model is the function set by the test, regardless of the table.
        read build(world, _, _settings: *const HrValue) -> u64 {
            crate::ensure!(world.second_model.is_some(), "{ABSENT}");
            Ok(0)
        }
    }
}

//! Layer outputs of the fake host, which the test sets.

use super::{Caller, functions, table};
use crate::abi::{HrStatus, HrStr, HrTensor};
use crate::testing::pattern::Pattern;
use std::ffi::c_void;

table!(LayerTable { watch, name, output });

functions! {
    find name(world, _, index: usize) -> HrStr {
        Ok(world.layers.get(index).map(|(name, _)| HrStr::new(name)))
    }
    find output(world, _, index: usize) -> HrTensor {
        // There is one where the model has run in this iteration.
        let has_run = world.in_slot(crate::abi::SLOT_OUTPUT).is_some();
        let layer = world.layers.get(index).filter(|_| has_run).map(|(_, output)| output.clone());
        Ok(layer.map(|output| world.give(output)))
    }
}

unsafe extern "C" fn watch(
    host: *mut c_void,
    pattern: HrStr,
    indices: *mut usize,
    capacity: usize,
    count: *mut usize,
) -> HrStatus {
    // SAFETY: a hook calls with the pointer of its handle; it lends the pattern until this returns.
    let (caller, pattern) = unsafe { (Caller::of(host), pattern.to_lossy()) };
    let found = caller.answer(|world, _| {
        let fitting = Pattern::parse(&pattern)?;
        let names = world.layers.iter().enumerate();
        let found: Vec<_> =
            names.filter(|(_, (name, _))| fitting.matches(name)).map(|(index, _)| index).collect();
        crate::ensure!(
            !found.is_empty(),
            "no layer matches `{pattern}`: give the model one with FakeTrainer::layer"
        );
        Ok(found)
    });
    let found = match found {
        Ok(found) => found,
        Err(status) => return status,
    };
    for (place, index) in found.iter().take(capacity).enumerate() {
        // SAFETY: a hook gives a row of `capacity` places.
        unsafe { indices.add(place).write(*index) };
    }
    // SAFETY: a hook gives a place for one number.
    unsafe { count.write(found.len()) };
    HrStatus::OK
}

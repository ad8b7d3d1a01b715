//! Outputs of layers, for plugins.

use super::service::{service, table};
use crate::context::{Lease, RunParts};
use hookrack_plugin_api::abi::{HrStatus, HrStr, HrTensor};
use std::ffi::c_void;

table!(LayerTable { watch, name, output });

unsafe extern "C" fn watch(
    host: *mut c_void,
    pattern: HrStr,
    indices: *mut usize,
    capacity: usize,
    count: *mut usize,
) -> HrStatus {
    service!(host, text(pattern), out(count), |context| {
        let found = context.engine.borrow().watch_layers(&pattern)?;
        for (place, index) in found.iter().take(capacity).enumerate() {
            // SAFETY: the caller gives places for `capacity` indices.
            unsafe { indices.add(place).write(*index) };
        }
        Ok(found.len())
    })
}

unsafe extern "C" fn name(host: *mut c_void, index: usize, out: *mut HrStr) -> HrStatus {
    service!(host, found(out), |context| {
        // A model's names do not change.
        let engine = context.engine.borrow();
        Ok(engine.layers().get(index).map(|layer| HrStr::new(layer.name())))
    })
}

unsafe extern "C" fn output(host: *mut c_void, index: usize, out: *mut HrTensor) -> HrStatus {
    service!(host, found(out), |context| {
        let output = context.engine.borrow().layer_output(index);
        let mut arena = context.arena.borrow_mut();
        Ok(output.map(|output| arena.insert_part(output, Lease::Owned, RunParts::LAYER)))
    })
}

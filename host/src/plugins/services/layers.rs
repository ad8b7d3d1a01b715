//! Outputs of layers, for plugins.

use super::desk::Desk;
use crate::context::Lease;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, HrStr, HrTensor, LayerTable};
use std::ffi::c_void;

/// The host's layer table.
pub(super) static TABLE: LayerTable =
    LayerTable { header: HrHeader::of::<LayerTable>(0), watch, name, output };

unsafe extern "C" fn watch(
    host: *mut c_void,
    pattern: HrStr,
    indices: *mut usize,
    capacity: usize,
    count: *mut usize,
) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the pattern until this returns.
    let (desk, pattern) = unsafe { (Desk::of(host), pattern.to_lossy()) };
    desk.answer(|context| {
        let found = context.engine.borrow().watch_layers(&pattern).map_err(|e| e.to_string())?;
        for (place, index) in found.iter().take(capacity).enumerate() {
            // SAFETY: the caller gives places for `capacity` indices.
            unsafe { indices.add(place).write(*index) };
        }
        // SAFETY: the caller gives a place for one number.
        unsafe { count.write(found.len()) };
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn name(host: *mut c_void, index: usize, out: *mut HrStr) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        let engine = context.engine.borrow();
        let Some(layer) = engine.layers().get(index) else {
            return Ok::<_, String>(HrStatus::ABSENT);
        };
        // SAFETY: the caller gives a place for one text; a model's names do not change.
        unsafe { out.write(HrStr::new(layer.name())) };
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn output(host: *mut c_void, index: usize, out: *mut HrTensor) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        let Some(output) = context.engine.borrow().layer_output(index) else {
            return Ok::<_, String>(HrStatus::ABSENT);
        };
        let handle = context.arena.borrow_mut().insert(output, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { out.write(handle) };
        Ok(HrStatus::OK)
    })
}

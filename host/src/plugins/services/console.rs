//! The progress line, for plugins.

use super::desk::Desk;
use crate::context::Context;
use hookrack_plugin_api::abi::{ConsoleTable, HrHeader, HrStatus, HrStr};
use std::ffi::c_void;

/// The host's console table.
pub(super) static TABLE: ConsoleTable =
    ConsoleTable { header: HrHeader::of::<ConsoleTable>(0), show, redraw };

unsafe extern "C" fn show(host: *mut c_void, names: *const HrStr, count: usize) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the names until this returns.
    let (desk, names): (_, &[HrStr]) = unsafe {
        let names = if count == 0 { &[] } else { std::slice::from_raw_parts(names, count) };
        (Desk::of(host), names)
    };
    // SAFETY: as above.
    let names: Vec<_> = names.iter().map(|name| unsafe { name.to_lossy() }.into_owned()).collect();
    desk.answer(|context| {
        context.writers.borrow_mut().show(&names);
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn redraw(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context: &Context| {
        let events = context.events.borrow();
        context.writers.borrow_mut().redraw(&events, &context.progress.get());
        Ok::<_, String>(())
    })
}

//! Scalars' past and scopes of names, for plugins.

use super::desk::Desk;
use super::events::number;
use crate::events::Key;
use hookrack_plugin_api::abi::{HistoryTable, HrHeader, HrScalarPoint, HrStatus, HrStr};
use std::ffi::c_void;

/// The host's history table.
pub(super) static TABLE: HistoryTable = HistoryTable {
    header: HrHeader::of::<HistoryTable>(0),
    mean,
    global_mean,
    recent,
    enter_scope,
    leave_scope,
};

unsafe extern "C" fn mean(host: *mut c_void, key: u32, window: usize, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours; it gives a place for one number.
    unsafe { number(host, out, |context| context.events.borrow().series(Key(key))?.mean(window)) }
}

unsafe extern "C" fn global_mean(host: *mut c_void, key: u32, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours; it gives a place for one number.
    unsafe { number(host, out, |context| context.events.borrow().series(Key(key))?.global_mean()) }
}

unsafe extern "C" fn recent(
    host: *mut c_void,
    key: u32,
    out: *mut HrScalarPoint,
    capacity: usize,
    count: *mut usize,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        let events = context.events.borrow();
        let newest_first = events.series(Key(key)).into_iter().flat_map(|s| s.recent(capacity));
        let points: Vec<_> = newest_first
            .map(|s| HrScalarPoint { iter: s.iter, samples: s.samples, value: s.value })
            .collect();
        for (index, point) in points.iter().rev().enumerate() {
            // SAFETY: the caller gives a row of `capacity` places, and there are no more points than that.
            unsafe { out.add(index).write(*point) };
        }
        // SAFETY: the caller gives a place for one number.
        unsafe { count.write(points.len()) };
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn enter_scope(host: *mut c_void, name: HrStr) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    let (desk, name) = unsafe { (Desk::of(host), name.to_lossy()) };
    desk.answer(|_| {
        if name.is_empty() || name.contains(['/', '@']) {
            return Err(format!(
                "`{name}` is not a valid scope: it must be a word without / and @"
            ));
        }
        desk.enter_scope(&name);
        Ok(())
    })
}

unsafe extern "C" fn leave_scope(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    let desk = unsafe { Desk::of(host) };
    desk.guard(|| Ok(if desk.leave_scope() { HrStatus::OK } else { HrStatus::ABSENT }))
}

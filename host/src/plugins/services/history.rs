//! The history of scalars, and scopes of names, for plugins.

use super::endpoint::Endpoint;
use super::events::of_series;
use super::service::{service, table};
use crate::events::{Key, Series};
use hookrack_plugin_api::abi::{HrScalarPoint, HrStatus, HrStr};
use std::ffi::c_void;

table!(HistoryTable { mean, global_mean, recent, enter_scope, leave_scope });

unsafe extern "C" fn mean(host: *mut c_void, key: u32, window: usize, out: *mut f64) -> HrStatus {
    service!(host, found(out), |context| Ok(of_series(context, key, |it| it.mean(window))))
}

unsafe extern "C" fn global_mean(host: *mut c_void, key: u32, out: *mut f64) -> HrStatus {
    service!(host, found(out), |context| Ok(of_series(context, key, Series::global_mean)))
}

unsafe extern "C" fn recent(
    host: *mut c_void,
    key: u32,
    out: *mut HrScalarPoint,
    capacity: usize,
    count: *mut usize,
) -> HrStatus {
    service!(host, out(count), |context| {
        let events = context.events.borrow();
        let newest_first = events.series(Key(key)).into_iter().flat_map(|s| s.recent(capacity));
        let points: Vec<_> = newest_first
            .map(|s| HrScalarPoint { iter: s.iter, samples: s.samples, value: s.value })
            .collect();
        for (index, point) in points.iter().rev().enumerate() {
            // SAFETY: the caller gives a row of `capacity` places, and there are no more points than that.
            unsafe { out.add(index).write(*point) };
        }
        Ok(points.len())
    })
}

unsafe extern "C" fn enter_scope(host: *mut c_void, name: HrStr) -> HrStatus {
    service!(host, text(name), |_, endpoint| {
        if name.is_empty() || name.contains(['/', '@']) {
            return Err(format!(
                "`{name}` is not a valid scope: it must be a word without / and @"
            )
            .into());
        }
        endpoint.enter_scope(&name);
        Ok(())
    })
}

unsafe extern "C" fn leave_scope(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    let endpoint = unsafe { Endpoint::of(host) };
    // Also after the run is over.
    endpoint.guard(|| Ok(if endpoint.leave_scope() { HrStatus::OK } else { HrStatus::ABSENT }))
}

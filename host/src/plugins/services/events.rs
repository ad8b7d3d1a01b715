//! Scalars and metrics for plugins.

use super::desk::Desk;
use crate::context::Context;
use crate::events::Key;
use hookrack_plugin_api::Better;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{
    EventTable, HrHeader, HrMetricReading, HrScalarReading, HrStatus, HrStr, METRIC_LATEST_STEP,
};
use std::borrow::Cow;
use std::ffi::c_void;

/// The host's event table.
pub(super) static TABLE: EventTable = EventTable {
    header: HrHeader::of::<EventTable>(0),
    key,
    put,
    latest,
    median,
    write,
    metric,
    metric_at,
    scalar_at,
};

/// The full name of what a hook puts: scoped by phase or by hook, and by what it has entered; or as it is.
pub(super) fn scoped_name<'a>(
    name: &'a str,
    desk: &Desk,
    context: &Context,
) -> Result<Cow<'a, str>, String> {
    if name.is_empty() {
        return Err("a logged value needs a name".to_owned());
    }
    let scope = desk.scope();
    Ok(match name.strip_prefix('@') {
        Some(own) => format!("hook/{}/{scope}{own}", desk.name).into(),
        None if name.contains('/') => name.into(),
        None => format!("{}/{scope}{name}", context.phase().name()).into(),
    })
}

unsafe extern "C" fn key(host: *mut c_void, name: HrStr, smooth: u32, out: *mut u32) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    let (desk, name) = unsafe { (Desk::of(host), name.to_lossy()) };
    desk.answer(|context| {
        let name = scoped_name(&name, desk, context)?;
        let key = context.events.borrow_mut().key(&name, smooth != 0);
        // SAFETY: the caller gives a place for one number.
        unsafe { out.write(key.0) };
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn put(host: *mut c_void, key: u32, value: f64) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(|context| {
        context.put(Key(key), value);
        Ok::<_, String>(())
    })
}

/// # Safety
/// `host` belongs to a handle of ours, `out` is a place for one number.
pub(super) unsafe fn number(
    host: *mut c_void,
    out: *mut f64,
    body: impl FnOnce(&Context) -> Option<f64>,
) -> HrStatus {
    // SAFETY: by the contract.
    unsafe { Desk::of(host) }.serve(|context| {
        let Some(value) = body(context) else { return Ok::<_, String>(HrStatus::ABSENT) };
        // SAFETY: by the contract.
        unsafe { out.write(value) };
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn latest(host: *mut c_void, key: u32, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours; it gives a place for one number.
    unsafe { number(host, out, |context| context.events.borrow().series(Key(key))?.latest()) }
}

unsafe extern "C" fn median(host: *mut c_void, key: u32, window: usize, out: *mut f64) -> HrStatus {
    // SAFETY: the caller's handle is ours; it gives a place for one number.
    unsafe { number(host, out, |context| context.events.borrow().series(Key(key))?.median(window)) }
}

unsafe extern "C" fn write(host: *mut c_void) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.answer(Context::write_events)
}

unsafe extern "C" fn metric(
    host: *mut c_void,
    phase: u32,
    name: HrStr,
    which: u32,
    out: *mut f64,
) -> HrStatus {
    // SAFETY: the caller lends the name until this returns.
    let name = unsafe { name.to_lossy() };
    let body = |context: &Context| {
        context.metrics.borrow().value(Phase::from_code(phase), &name, which == METRIC_LATEST_STEP)
    };
    // SAFETY: the caller's handle is ours; it gives a place for one number.
    unsafe { number(host, out, body) }
}

unsafe extern "C" fn metric_at(
    host: *mut c_void,
    index: usize,
    out: *mut HrMetricReading,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        let metrics = context.metrics.borrow();
        let Some(reading) = metrics.iter().nth(index) else {
            return Ok::<_, String>(HrStatus::ABSENT);
        };
        // SAFETY: the caller gives a place for one reading; a name on the board stays where it is.
        unsafe {
            out.write(HrMetricReading {
                name: HrStr::new(reading.name),
                phase: reading.phase.code(),
                better: Better::sign(reading.better),
                step: reading.step.unwrap_or(f64::NAN),
                epoch: reading.last.unwrap_or(f64::NAN),
            });
        }
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn scalar_at(
    host: *mut c_void,
    index: usize,
    out: *mut HrScalarReading,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        let events = context.events.borrow();
        let valued = events
            .all()
            .enumerate()
            .filter_map(|(key, series)| Some((key, series, series.latest()?)));
        let Some((key, series, latest)) = valued.into_iter().nth(index) else {
            return Ok::<_, String>(HrStatus::ABSENT);
        };
        // SAFETY: the caller gives a place for one reading; an interned name stays where it is.
        unsafe {
            out.write(HrScalarReading {
                name: HrStr::new(series.name()),
                key: u32::try_from(key).unwrap_or(u32::MAX),
                smooth: series.is_smooth().into(),
                iter: series.step(),
                latest,
            });
        }
        Ok(HrStatus::OK)
    })
}

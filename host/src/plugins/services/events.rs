//! Scalars and metrics for plugins.

use super::endpoint::Endpoint;
use super::service::{service, table};
use crate::context::Context;
use crate::events::{Key, Series};
use hookrack_plugin_api::Better;
use hookrack_plugin_api::Phase;
use hookrack_plugin_api::abi::{
    HrMetricReading, HrScalarReading, HrStatus, HrStr, METRIC_LATEST_STEP,
};
use std::borrow::Cow;
use std::ffi::c_void;

table!(EventTable { key, put, latest, median, write, metric, metric_at, scalar_at });

/// The full name of what a hook logs: prefixed with the phase or the instance and with open scopes, or unchanged.
pub(super) fn scoped_name<'a>(
    name: &'a str,
    endpoint: &Endpoint,
    context: &Context,
) -> Result<Cow<'a, str>, String> {
    if name.is_empty() {
        return Err("a logged value needs a name".to_owned());
    }
    let scope = endpoint.scope();
    Ok(match name.strip_prefix('@') {
        Some(own) => format!("hook/{}/{scope}{own}", endpoint.name).into(),
        None if name.contains('/') => name.into(),
        None => format!("{}/{scope}{name}", context.phase().name()).into(),
    })
}

/// A number about a scalar; none where nothing was put yet.
pub(super) fn of_series(
    context: &Context,
    key: u32,
    number: impl FnOnce(&Series) -> Option<f64>,
) -> Option<f64> {
    context.events.borrow().series(Key(key)).and_then(number)
}

unsafe extern "C" fn key(host: *mut c_void, name: HrStr, smooth: u32, out: *mut u32) -> HrStatus {
    service!(host, text(name), out(out), |context, endpoint| {
        let name = scoped_name(&name, endpoint, context)?;
        Ok(context.events.borrow_mut().key(&name, smooth != 0).0)
    })
}

unsafe extern "C" fn put(host: *mut c_void, key: u32, value: f64) -> HrStatus {
    service!(host, |context| {
        context.put(Key(key), value);
        Ok(())
    })
}

unsafe extern "C" fn latest(host: *mut c_void, key: u32, out: *mut f64) -> HrStatus {
    service!(host, found(out), |context| Ok(of_series(context, key, Series::latest)))
}

unsafe extern "C" fn median(host: *mut c_void, key: u32, window: usize, out: *mut f64) -> HrStatus {
    service!(host, found(out), |context| Ok(of_series(context, key, |it| it.median(window))))
}

unsafe extern "C" fn write(host: *mut c_void) -> HrStatus {
    service!(host, |context| Ok(context.write_events()?))
}

unsafe extern "C" fn metric(
    host: *mut c_void,
    phase: u32,
    name: HrStr,
    which: u32,
    out: *mut f64,
) -> HrStatus {
    service!(host, text(name), found(out), |context| {
        let (phase, is_step) = (Phase::from_code(phase), which == METRIC_LATEST_STEP);
        Ok(context.metrics.borrow().value(phase, &name, is_step))
    })
}

unsafe extern "C" fn metric_at(
    host: *mut c_void,
    index: usize,
    out: *mut HrMetricReading,
) -> HrStatus {
    service!(host, found(out), |context| {
        let metrics = context.metrics.borrow();
        Ok(metrics.iter().nth(index).map(|reading| HrMetricReading {
            // The name of a metric's value stays where it is.
            name: HrStr::new(reading.name),
            phase: reading.phase.code(),
            better: Better::sign(reading.better),
            step: reading.step.unwrap_or(f64::NAN),
            epoch: reading.last.unwrap_or(f64::NAN),
        }))
    })
}

unsafe extern "C" fn scalar_at(
    host: *mut c_void,
    index: usize,
    out: *mut HrScalarReading,
) -> HrStatus {
    service!(host, found(out), |context| {
        let events = context.events.borrow();
        let mut valued = events
            .all()
            .enumerate()
            .filter_map(|(key, series)| Some((key, series, series.latest()?)));
        Ok(valued.nth(index).map(|(key, series, latest)| HrScalarReading {
            // An interned name stays where it is.
            name: HrStr::new(series.name()),
            key: u32::try_from(key).unwrap_or(u32::MAX),
            smooth: series.is_smooth().into(),
            iter: series.step(),
            latest,
        }))
    })
}

//! The metrics of the run as objects, for plugins.

use super::service::{service, table};
use hookrack_plugin_api::Better;
use hookrack_plugin_api::abi::{HrMetricInfo, HrScalarSink, HrStatus, HrStr};
use std::ffi::c_void;

table!(MetricTable { at, compute });

unsafe extern "C" fn at(host: *mut c_void, index: usize, out: *mut HrMetricInfo) -> HrStatus {
    service!(host, found(out), |context| {
        let objects = context.metric_objects.borrow();
        let metric = objects.get(index).map(|metric| metric.description());
        Ok(metric.map(|metric| HrMetricInfo {
            // The metric is the run's; its texts do not change.
            name: HrStr::new(&metric.name),
            type_name: HrStr::new(&metric.type_name),
            unit: HrStr::new(&metric.unit),
            phase: metric.phase.code(),
            better: Better::sign(metric.better),
        }))
    })
}

unsafe extern "C" fn compute(
    host: *mut c_void,
    index: usize,
    scope: u32,
    sink: *const HrScalarSink,
) -> HrStatus {
    let mut values = Vec::new();
    let status = service!(host, found(&raw mut values), |context| {
        // Nothing of the context stays borrowed while the metric computes.
        let metric = context.metric_objects.borrow().get(index).cloned();
        Ok(metric.map(|metric| metric.values(scope)).transpose()?)
    });
    for (suffix, value) in &values {
        // SAFETY: the caller lends the sink until this returns; the suffix lives until its function returns.
        let taken = unsafe { ((*sink).put)((*sink).sink, HrStr::new(suffix), *value) };
        if taken != HrStatus::OK {
            return taken;
        }
    }
    status
}

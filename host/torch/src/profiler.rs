//! Profiles of libtorch: operators with their times, and custom ranges, as a trace.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use super::error::{TorchError, check};
use super::{Result, ffi};

thread_local! {
    // A profile belongs to the training thread, and so does this flag.
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
}

/// The cost of one operator in a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpCost {
    /// Its name, such as `aten::addmm`.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
    /// Nanoseconds in it, without operators that it called.
    pub self_ns: u64,
    /// Nanoseconds in it.
    pub total_ns: u64,
    /// Floating point operations, if they were estimated.
    pub flops: u64,
}

/// A cost as the shim hands it over.
#[repr(C)]
pub(super) struct RawCost {
    name: *const c_char,
    calls: u64,
    self_ns: u64,
    total_ns: u64,
    flops: u64,
}

/// Whether this thread is being profiled.
#[inline]
pub fn is_active() -> bool {
    ACTIVE.get()
}

/// Gets ready to record; `flags` are plugin-api's `PROFILE_*`.
///
/// # Errors
/// A profile is already being recorded, or libtorch failed.
pub fn prepare(flags: u32) -> Result<()> {
    refuse_second()?;
    // SAFETY: plain numbers.
    unsafe { check(ffi::hrt_profiler_prepare(flags)) }
}

/// Starts recording.
///
/// # Errors
/// A profile is already being recorded, or libtorch failed.
pub fn start(flags: u32) -> Result<()> {
    refuse_second()?;
    // SAFETY: plain numbers.
    unsafe { check(ffi::hrt_profiler_start(flags)) }?;
    ACTIVE.set(true);
    Ok(())
}

/// Stops recording; returns the cost of each operator, most expensive first, and writes the trace if a path is given.
///
/// # Errors
/// Nothing is being recorded, or libtorch could not write.
pub fn stop(trace: Option<&Path>) -> Result<Vec<OpCost>> {
    if !ACTIVE.replace(false) {
        return Err(TorchError::new("no profile is being recorded"));
    }
    let path = trace.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let mut costs: Vec<OpCost> = Vec::new();
    let sink = (&raw mut costs).cast::<c_void>();
    // SAFETY: the path is lent until the call returns; `take` is given the vector, which nobody else uses meanwhile.
    unsafe { check(ffi::hrt_profiler_stop(path.as_ptr().cast(), path.len(), take, sink)) }?;
    Ok(costs)
}

fn refuse_second() -> Result<()> {
    if is_active() {
        return Err(TorchError::new(
            "a profile is already being recorded: only one at a time in a process",
        ));
    }
    Ok(())
}

unsafe extern "C" fn take(sink: *mut c_void, cost: *const RawCost) {
    // SAFETY: `stop` gave the vector; the shim lends the cost and its name until this returns.
    let (costs, cost, name) = unsafe {
        let cost = &*cost;
        (&mut *sink.cast::<Vec<OpCost>>(), cost, CStr::from_ptr(cost.name))
    };
    let RawCost { calls, self_ns, total_ns, flops, .. } = *cost;
    costs.push(OpCost {
        name: name.to_string_lossy().into_owned(),
        calls,
        self_ns,
        total_ns,
        flops,
    });
}

/// A range in the trace, until it is dropped.
pub struct Range(*mut ffi::RawRange);

impl Range {
    /// Begins a range; almost free unless a profile is being recorded.
    pub fn begin(name: &str) -> Self {
        // SAFETY: the name is lent until the call returns, which copies it.
        Self(unsafe { ffi::hrt_range_begin(name.as_ptr().cast(), name.len()) })
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: null, or a range that the shim made and nobody ended.
        unsafe { ffi::hrt_range_end(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind, Tensor};

    #[test]
    fn a_profile_has_operators_with_self_times_and_operations() {
        super::super::start();
        let x = Tensor::randn([64, 64], (Kind::Float, Device::Cpu));
        assert!(stop(None).is_err());
        prepare(0).unwrap();
        start(5).unwrap();
        assert!(is_active() && start(0).is_err());
        {
            let _range = Range::begin("ours");
            for _ in 0..3 {
                let _ = x.f_matmul(&x).unwrap();
            }
        }
        let costs = stop(None).unwrap();
        let cost = |name: &str| costs.iter().find(|cost| cost.name == name).cloned().unwrap();
        assert_eq!((cost("aten::matmul").calls, cost("aten::mm").calls), (3, 3));
        assert!(cost("aten::matmul").self_ns < cost("aten::matmul").total_ns);
        assert_eq!(cost("aten::mm").flops, 3 * 2 * 64 * 64 * 64);
        assert!(costs.iter().all(|cost| cost.name != "ours"));
        assert!(costs.windows(2).all(|pair| pair[0].self_ns >= pair[1].self_ns));
        assert!(!is_active());
    }
}

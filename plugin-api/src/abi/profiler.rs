//! The extension for profiling libtorch and hooks.

use super::{HrHeader, HrStatus, HrStr};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// The id under which a host offers it.
pub const PROFILER: &str = "hookrack.profiler/1";

/// Record the shapes of inputs.
pub const PROFILE_SHAPES: u32 = 1;
/// Record allocations and deallocations.
pub const PROFILE_MEMORY: u32 = 2;
/// Estimate floating point operations; needs shapes.
pub const PROFILE_FLOPS: u32 = 4;

/// The cost of one operator in a profile.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrOpCost {
    /// Its name, such as `aten::addmm`. [borrowed until the next profile ends]
    pub name: HrStr,
    /// The number of calls.
    pub calls: u64,
    /// Self time in nanoseconds: without the operators that it called.
    pub self_ns: u64,
    /// Total time in nanoseconds: including the operators that it called.
    pub total_ns: u64,
    /// Floating point operations, if they were estimated; 0 if they are unknown.
    pub flops: u64,
}

/// Profiles of libtorch and of hooks. One at a time in a process.
#[repr(C)]
#[derive(StableAbi)]
pub struct ProfilerTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Initializes the profiler with `PROFILE_*` flags, so that the first recorded iteration is not slower than the
    /// others. [train-thread]
    pub prepare: unsafe extern "C" fn(host: *mut c_void, flags: u32) -> HrStatus,
    /// Starts recording operators, points and hook calls. [train-thread]
    pub start: unsafe extern "C" fn(host: *mut c_void, flags: u32) -> HrStatus,
    /// Stops recording and writes the trace to `file` (relative to the run directory, ending in `.json`); an empty name
    /// writes none. [train-thread] [borrowed until return]
    pub stop: unsafe extern "C" fn(host: *mut c_void, file: HrStr) -> HrStatus,
    /// The operator at `index` of the last profile, the most expensive first; ABSENT past the last. [train-thread]
    pub op_at:
        unsafe extern "C" fn(host: *mut c_void, index: usize, out: *mut HrOpCost) -> HrStatus,
}

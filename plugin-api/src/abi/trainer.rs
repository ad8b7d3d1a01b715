//! The trainer handle: what a plugin receives, and the tables of services behind it.

use super::{HrHeader, HrStatus, HrStr, HrTensor, HrValue, TensorTable};
use abi_stable::StableAbi;
use std::ffi::c_void;

/// Log level: an error.
pub const LOG_ERROR: u32 = 1;
/// Log level: a warning.
pub const LOG_WARN: u32 = 2;
/// Log level: information.
pub const LOG_INFO: u32 = 3;
/// Log level: debug.
pub const LOG_DEBUG: u32 = 4;
/// Log level: trace.
pub const LOG_TRACE: u32 = 5;

/// Request that the run ends at the next boundary.
pub const REQUEST_STOP: u32 = 1;
/// Request a validation after the current iteration or epoch.
pub const REQUEST_VALIDATE: u32 = 2;
/// Request a checkpoint after the current iteration or epoch.
pub const REQUEST_SAVE: u32 = 3;

/// A metric's value of the last batch.
pub const METRIC_LATEST_STEP: u32 = 0;
/// A metric's value over the last complete pass.
pub const METRIC_LATEST_EPOCH: u32 = 1;

/// The progress of the run: plain fields that the host updates in place, so reading one is not a call. [train-thread]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, StableAbi)]
pub struct HrProgress {
    /// The size of this struct in the host.
    pub struct_size: u32,
    /// 0 train, 1 val, 2 test, 3 pred.
    pub phase: u32,
    /// The current epoch, from 1; between epochs, the number of epochs started.
    pub epoch: u64,
    /// The current training iteration, from 1; between iterations, the number of iterations started.
    pub iter: u64,
    /// The current iteration within the epoch or pass, from 1.
    pub inner_iter: u64,
    /// The number of iterations in an epoch or pass of the current phase.
    pub inner_len: u64,
    /// The configured number of epochs.
    pub max_epochs: u64,
    /// The number of iterations after which training is complete.
    pub max_iters: u64,
    /// The index of the current micro-batch, from 0.
    pub micro: u32,
    /// The number of micro-batches in the iteration.
    pub micros: u32,
    /// Training samples consumed.
    pub samples: u64,
    /// Samples in the current batch.
    pub batch_size: u64,
    /// The rank of this process, from 0.
    pub rank: u32,
    /// The number of ranks.
    pub world: u32,
    /// The run's seed.
    pub seed: u64,
    /// The learning rate of the largest parameter group, by number of parameters; the first if there are several.
    pub lr: f64,
    /// Seconds spent waiting for the current batch.
    pub data_time: f64,
    /// Seconds from requesting the batch to the end of the last role of the current iteration; 0 before that.
    pub iter_time: f64,
    /// How the run ended: 0 not yet, 1 completed, 2 stopped, 3 interrupted, 4 failed.
    pub outcome: u32,
    /// Where `on_exception` was raised: the point's code, or 0xffffffff outside of any point.
    pub failed_point: u32,
}

/// The steps of training. `model`, `group_count` and `lr` may be called at every point, the others in a role, and
/// elsewhere by hooks that declare in `mutates` what they change.
#[repr(C)]
#[derive(StableAbi)]
pub struct EngineTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Runs the model on the current input and sets SLOT_OUTPUT. In training it is an error if another hook has the
    /// forward role: `hookrack.roles/1` runs that hook. [train-thread]
    pub forward: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Runs the model on `input`; the result belongs to the caller. [train-thread]
    pub model:
        unsafe extern "C" fn(host: *mut c_void, input: HrTensor, out: *mut HrTensor) -> HrStatus,
    /// Computes the configured loss of SLOT_OUTPUT and SLOT_LABEL into SLOT_LOSS; an error as for `forward`. [train-thread]
    pub criterion: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Computes the gradients of SLOT_LOSS, weighted by the micro-batch's share of the batch, and adds them. From
    /// `before_optimizer_step` on, SLOT_LOSS is that of the whole batch and the gradients are unscaled. [train-thread]
    pub backward: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Updates the parameters with their gradients, which stay until the iteration ends. [train-thread]
    pub optimizer_step: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Advances the configured schedule and sets the learning rates. [train-thread]
    pub lr_step: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// The number of parameter groups of the optimizer. [train-thread]
    pub group_count: unsafe extern "C" fn(host: *mut c_void) -> usize,
    /// A group's learning rate. [train-thread]
    pub lr: unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus,
    /// Sets a group's learning rate. [train-thread]
    pub set_lr: unsafe extern "C" fn(host: *mut c_void, group: usize, lr: f64) -> HrStatus,
}

/// The last values of a metric.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrMetricReading {
    /// Its name, with `.suffix` for one of several values. [borrowed until the point returns]
    pub name: HrStr,
    /// The phase it is computed in.
    pub phase: u32,
    /// 1 if higher is better, -1 if lower is, 0 if neither.
    pub better: i32,
    /// The value of the last batch; NaN if there is none.
    pub step: f64,
    /// The value over the last complete pass; NaN if there is none.
    pub epoch: f64,
}

/// The last value of a scalar.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrScalarReading {
    /// Its full name. [borrowed for the run]
    pub name: HrStr,
    /// Its key.
    pub key: u32,
    /// Whether the console shows a median: 0 or 1.
    pub smooth: u32,
    /// The training iteration of its last value.
    pub iter: u64,
    /// Its last value.
    pub latest: f64,
}

/// Scalars that writers read, and the values of metrics.
#[repr(C)]
#[derive(StableAbi)]
pub struct EventTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The key of a scalar, looked up once. A name without '/' is prefixed with the current phase, one that begins with
    /// '@' with this instance: `@norm` is `hook/<instance>/norm`. With `smooth` the console shows a median; files have
    /// the values. [train-thread] [valid for the run]
    pub key: unsafe extern "C" fn(
        host: *mut c_void,
        name: HrStr,
        smooth: u32,
        out: *mut u32,
    ) -> HrStatus,
    /// Logs a value for the current iteration. Does not allocate. [train-thread]
    pub put: unsafe extern "C" fn(host: *mut c_void, key: u32, value: f64) -> HrStatus,
    /// The last value; ABSENT if there is none. [train-thread]
    pub latest: unsafe extern "C" fn(host: *mut c_void, key: u32, out: *mut f64) -> HrStatus,
    /// The median of the last `window` values. [train-thread]
    pub median:
        unsafe extern "C" fn(host: *mut c_void, key: u32, window: usize, out: *mut f64) -> HrStatus,
    /// Makes the writers write what was logged since the last time. [train-thread]
    pub write: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// A metric's value by phase, name (`Accuracy`, or `F1.macro` for one of several) and `METRIC_LATEST_*`;
    /// ABSENT before it was computed. [train-thread]
    pub metric: unsafe extern "C" fn(
        host: *mut c_void,
        phase: u32,
        name: HrStr,
        which: u32,
        out: *mut f64,
    ) -> HrStatus,
    /// The metric at `index` among all that have a value; ABSENT past the last. [train-thread]
    pub metric_at: unsafe extern "C" fn(
        host: *mut c_void,
        index: usize,
        out: *mut HrMetricReading,
    ) -> HrStatus,
    /// The scalar at `index` among all that have a value; ABSENT past the last. [train-thread]
    pub scalar_at: unsafe extern "C" fn(
        host: *mut c_void,
        index: usize,
        out: *mut HrScalarReading,
    ) -> HrStatus,
}

/// Values shared between hooks by name.
#[repr(C)]
#[derive(StableAbi)]
pub struct StateTable {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// Sets or replaces a value. [train-thread] [borrowed until return]
    pub put: unsafe extern "C" fn(host: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus,
    /// A value; null if there is none. [train-thread] [borrowed until the next call of this table]
    pub value: unsafe extern "C" fn(host: *mut c_void, key: HrStr) -> *const HrValue,
    /// Removes a value; ABSENT if there is none. [train-thread]
    pub remove: unsafe extern "C" fn(host: *mut c_void, key: HrStr) -> HrStatus,
}

/// The handle that an instance receives, at the same address from `create` until `destroy` returns.
#[repr(C)]
#[derive(StableAbi)]
pub struct TrainerHandle {
    /// The header: magic, size and version of the side that made the table.
    pub header: HrHeader,
    /// The first argument of each function.
    pub host: *mut c_void,
    /// The progress of the run.
    pub progress: *const HrProgress,
    /// The instance's name in the config. [borrowed for the run]
    pub instance: HrStr,
    /// The most detailed `LOG_*` level that is enabled.
    pub log_level: *const u32,
    /// Tensors.
    pub tensors: *const TensorTable,
    /// The engine, for roles.
    pub engine: *const EngineTable,
    /// Scalars and metrics.
    pub events: *const EventTable,
    /// Shared values.
    pub states: *const StateTable,
    /// The table of an extension by its id, such as `hookrack.artifacts/1`; null if this host does not have it.
    /// [any-thread] [valid for the process]
    pub extension: unsafe extern "C" fn(host: *mut c_void, id: HrStr) -> *const c_void,
    /// Logs a message. [any-thread] [borrowed until return]
    pub log: unsafe extern "C" fn(host: *mut c_void, level: u32, target: HrStr, message: HrStr),
    /// Sets the message of the failure that is about to be returned. [train-thread] [borrowed until return]
    pub set_error: unsafe extern "C" fn(host: *mut c_void, message: HrStr),
    /// The message of the last failed call of this handle. [train-thread] [borrowed until the next call]
    pub last_error: unsafe extern "C" fn(host: *mut c_void) -> HrStr,
    /// Makes a request, one of `REQUEST_*`, with a reason. [train-thread] [borrowed until return]
    pub request: unsafe extern "C" fn(host: *mut c_void, what: u32, why: HrStr) -> HrStatus,
    /// The error of a failed run, at `on_exception` and later points; empty if there is none. [train-thread] [borrowed
    /// until return of the point]
    pub failure: unsafe extern "C" fn(host: *mut c_void) -> HrStr,
}

// SAFETY: a handle is a bundle of pointers that the host keeps valid; the functions say which thread may call them.
unsafe impl Send for TrainerHandle {}
// SAFETY: as above.
unsafe impl Sync for TrainerHandle {}

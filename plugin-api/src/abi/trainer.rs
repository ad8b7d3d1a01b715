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
/// Log level: for debugging.
pub const LOG_DEBUG: u32 = 4;
/// Log level: every detail.
pub const LOG_TRACE: u32 = 5;

/// Ask for the run to end at the next boundary.
pub const REQUEST_STOP: u32 = 1;
/// Ask for a validation in the next slot.
pub const REQUEST_VALIDATE: u32 = 2;
/// Ask for a checkpoint in the next slot.
pub const REQUEST_SAVE: u32 = 3;

/// A metric's value of the last batch.
pub const METRIC_LATEST_STEP: u32 = 0;
/// A metric's value of the last finished epoch.
pub const METRIC_LATEST_EPOCH: u32 = 1;

/// Where the run is. Plain fields, kept up to date by the host: reading one does not call the host. [train-thread]
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, StableAbi)]
pub struct HrProgress {
    /// The size of this struct in the host.
    pub struct_size: u32,
    /// 0 train, 1 val, 2 test, 3 pred.
    pub phase: u32,
    /// The epoch in progress, the first is 1; between epochs, how many were begun.
    pub epoch: u64,
    /// The training iteration in progress, the first is 1; between iterations, how many were begun.
    pub iter: u64,
    /// The iteration in progress within the current pass, the first is 1.
    pub inner_iter: u64,
    /// Iterations of one pass over the current phase's data.
    pub inner_len: u64,
    /// The epoch after which training ends.
    pub max_epochs: u64,
    /// The iteration after which training ends.
    pub max_iters: u64,
    /// The micro-batch in progress, the first is 0.
    pub micro: u32,
    /// Micro-batches of an iteration.
    pub micros: u32,
    /// Training samples consumed.
    pub samples: u64,
    /// Samples in the current batch.
    pub batch_size: u64,
    /// This process among `world`.
    pub rank: u32,
    /// How many processes train together.
    pub world: u32,
    /// The run's seed.
    pub seed: u64,
    /// The learning rate of the largest parameter group: that with the most parameters, the first of several.
    pub lr: f64,
    /// Seconds that fetching the current batch took.
    pub data_time: f64,
    /// Seconds from the start of the current iteration's fetch to the end of its last role; 0 before that.
    pub iter_time: f64,
    /// How the run ended: 0 not yet, 1 completed, 2 stopped, 3 interrupted, 4 failed.
    pub outcome: u32,
    /// Where `on_exception` was raised: the point's code, or 0xffffffff outside of any point.
    pub failed_point: u32,
}

/// What roles ask of the engine. Each of them may fail; none may be called outside a role but `lr`.
#[repr(C)]
#[derive(StableAbi)]
pub struct EngineTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Runs the model on the current input and puts the result into SLOT_OUTPUT. In training an error while another hook
    /// holds the forward role: `hookrack.roles/1` runs that hook. [train-thread]
    pub forward: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Runs the model on `input`; the result belongs to the caller. [train-thread]
    pub model:
        unsafe extern "C" fn(host: *mut c_void, input: HrTensor, out: *mut HrTensor) -> HrStatus,
    /// Computes the configured loss of SLOT_OUTPUT and SLOT_LABEL into SLOT_LOSS; an error as for `forward`. [train-thread]
    pub criterion: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Differentiates SLOT_LOSS, times the micro-batch's share of the batch, and adds to the gradients. From
    /// `before_optimizer_step` on SLOT_LOSS is that of the whole batch, and the gradients are of true size. [train-thread]
    pub backward: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Changes the parameters by their gradients, which stay until the iteration ends. [train-thread]
    pub optimizer_step: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// Sets the learning rate by the configured schedule. [train-thread]
    pub lr_step: unsafe extern "C" fn(host: *mut c_void) -> HrStatus,
    /// How many groups of parameters the optimizer has. [train-thread]
    pub group_count: unsafe extern "C" fn(host: *mut c_void) -> usize,
    /// A group's learning rate. [train-thread]
    pub lr: unsafe extern "C" fn(host: *mut c_void, group: usize, out: *mut f64) -> HrStatus,
    /// Sets a group's learning rate. [train-thread]
    pub set_lr: unsafe extern "C" fn(host: *mut c_void, group: usize, lr: f64) -> HrStatus,
}

/// A metric of the run, as it stands.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrMetricReading {
    /// Its name, with `.suffix` for one of several values. [borrowed until the point returns]
    pub name: HrStr,
    /// The phase that it is computed in.
    pub phase: u32,
    /// 1 where higher is better, -1 where lower is, 0 where neither is.
    pub better: i32,
    /// The value of the last batch; NaN where there is none.
    pub step: f64,
    /// The value of the last whole pass; NaN where there is none.
    pub epoch: f64,
}

/// A scalar of the run, as it stands.
#[repr(C)]
#[derive(Clone, Copy, StableAbi)]
pub struct HrScalarReading {
    /// Its full name. [borrowed for the run]
    pub name: HrStr,
    /// Its key.
    pub key: u32,
    /// Whether people are shown a median of it: 0 or 1.
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
    /// Who made this table.
    pub header: HrHeader,
    /// Interns a scalar's name; ask once, put often. A name without '/' is scoped by the current phase, one that
    /// begins with '@' by this hook: `@norm` is `hook/<instance>/norm`. `smooth` says whether people are shown
    /// a median; files have the values. [train-thread] [valid for the run]
    pub key: unsafe extern "C" fn(
        host: *mut c_void,
        name: HrStr,
        smooth: u32,
        out: *mut u32,
    ) -> HrStatus,
    /// Puts a value for the current iteration. Allocates nothing. [train-thread]
    pub put: unsafe extern "C" fn(host: *mut c_void, key: u32, value: f64) -> HrStatus,
    /// The last value; ABSENT where there is none. [train-thread]
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

/// Values that hooks share by name.
#[repr(C)]
#[derive(StableAbi)]
pub struct StateTable {
    /// Who made this table.
    pub header: HrHeader,
    /// Puts or replaces a value. [train-thread] [borrowed until return]
    pub put: unsafe extern "C" fn(host: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus,
    /// A value; null where there is none. [train-thread] [borrowed until the next call of this table]
    pub value: unsafe extern "C" fn(host: *mut c_void, key: HrStr) -> *const HrValue,
    /// Removes a value; ABSENT where there is none. [train-thread]
    pub remove: unsafe extern "C" fn(host: *mut c_void, key: HrStr) -> HrStatus,
}

/// What a plugin receives: one per hook instance, at one address from `create` until `destroy` returns.
#[repr(C)]
#[derive(StableAbi)]
pub struct TrainerHandle {
    /// Who made this table.
    pub header: HrHeader,
    /// Handed back to each function.
    pub host: *mut c_void,
    /// Where the run is.
    pub progress: *const HrProgress,
    /// The instance's name in the config. [borrowed for the run]
    pub instance: HrStr,
    /// The most detailed `LOG_*` that anybody listens to.
    pub log_level: *const u32,
    /// Tensors.
    pub tensors: *const TensorTable,
    /// The engine, for roles.
    pub engine: *const EngineTable,
    /// Scalars and metrics.
    pub events: *const EventTable,
    /// Shared values.
    pub states: *const StateTable,
    /// A later service by its id, such as `hookrack.artifacts/1`; null where this host has none.
    /// [any-thread] [valid for the process]
    pub extension: unsafe extern "C" fn(host: *mut c_void, id: HrStr) -> *const c_void,
    /// Hands a line to the host's log. [any-thread] [borrowed until return]
    pub log: unsafe extern "C" fn(host: *mut c_void, level: u32, target: HrStr, message: HrStr),
    /// Says why the status that is about to be returned is not OK. [train-thread] [borrowed until return]
    pub set_error: unsafe extern "C" fn(host: *mut c_void, message: HrStr),
    /// The text behind the last failed call of this handle. [train-thread] [borrowed until the next call]
    pub last_error: unsafe extern "C" fn(host: *mut c_void) -> HrStr,
    /// Asks for something: a `REQUEST_*`, with a reason. [train-thread] [borrowed until return]
    pub request: unsafe extern "C" fn(host: *mut c_void, what: u32, why: HrStr) -> HrStatus,
    /// The failure that `on_exception` and the `after_*` points of a failed run are about; empty where there is
    /// none. [train-thread] [borrowed until return of the point]
    pub failure: unsafe extern "C" fn(host: *mut c_void) -> HrStr,
}

// SAFETY: a handle is a bundle of pointers that the host keeps valid; the functions say which thread may call them.
unsafe impl Send for TrainerHandle {}
// SAFETY: as above.
unsafe impl Sync for TrainerHandle {}

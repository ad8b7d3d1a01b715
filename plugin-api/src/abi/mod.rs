//! The ABI: every type that crosses the boundary between host and plugin, and the only module with raw pointers.
//!
//! Rules for changes (docs/abi.md has the reasons):
//! - A struct of this folder never changes within a major version. A new point is a new code; a new service is a
//!   new table, fetched by a string id through [`TrainerHandle::extension`].
//! - Memory is freed by the side that allocated it. Borrowed values are valid until the call returns, unless stated otherwise.
//! - A status is a number, never a Rust enum: an unknown number must not be undefined behavior.
//! - Parameter names are part of the layout that abi_stable checks: renaming one breaks every built plugin.
//! - The documentation of each function ends with its contract: which thread may call it, and how long its results are valid.

#![expect(unsafe_code, reason = "this folder is the boundary; every block says why it is sound")]

mod artifacts;
mod autograd;
mod calls;
mod checkpoint_names;
mod checkpoints;
mod console;
mod extension;
#[cfg(any(feature = "testing", test))]
pub(crate) mod fake;
mod files;
mod gradients;
mod header;
mod history;
mod hook;
mod layers;
mod loss;
mod lr;
mod media;
mod metric;
mod metrics;
mod models;
mod named_tensors;
mod params;
mod pass;
#[expect(
    clippy::expl_impl_clone_on_copy,
    reason = "abi_stable's derive writes it so for a prefix type"
)]
mod plugin;
mod precision;
mod profiler;
mod ranks;
mod record;
mod roles;
mod state;
mod status;
mod step;
mod tensor;
mod text;
mod thunks;
mod trainer;
mod value;

pub use artifacts::{ARTIFACTS, ArtifactTable};
pub use autograd::{AUTOGRAD, AutogradTable};
pub use calls::Host;
pub(crate) use calls::LogHandle;
pub use checkpoint_names::{CHECKPOINT_NAMES, CheckpointNameTable};
pub use checkpoints::{CHECKPOINTS, CheckpointTable};
pub use console::{CONSOLE, ConsoleTable};
pub use extension::{EXTENSIONS, Extension, ExtensionInfo};
pub use files::{FILES, FileTable};
pub use gradients::{GRADIENTS, GradientTable};
pub use header::{ABI_MAJOR, ABI_MINOR, FLAG_PANIC_ABORT, FLAG_RUST, HrHeader, MAGIC};
pub use history::{HISTORY, HistoryTable, HrScalarPoint};
pub use hook::HookBase;
pub use layers::{LAYERS, LayerTable};
pub use loss::{LOSS, LossTable};
pub use lr::{LR, LrTable};
pub use media::{MEDIA, MediaTable};
pub use metric::{HrScalarSink, METRIC_EPOCH, METRIC_SO_FAR, METRIC_STEP, MetricBase};
pub use metrics::{HrMetricInfo, METRICS, MetricTable};
pub use models::{MODELS, ModelTable};
pub use named_tensors::{NAMED_TENSORS, NamedTensorTable};
pub use params::{PARAMS, ParamTable};
pub use pass::{PASS, PassTable};
pub use plugin::{
    ENTRY_SYMBOL, HrPlugin, HrPluginPtr, PluginRoot, PluginRootRef, TableLayout, library_header,
    plugin_root, root_result,
};
pub use precision::{PRECISION, PRECISION_BF16, PRECISION_FP16, PRECISION_FP32, PrecisionTable};
pub use profiler::{
    HrOpCost, PROFILE_FLOPS, PROFILE_MEMORY, PROFILE_SHAPES, PROFILER, ProfilerTable,
};
pub use ranks::{RANKS, REDUCE_MAX, REDUCE_MIN, REDUCE_SUM, RankTable};
pub use record::{RECORD, RecordTable};
pub use roles::{ROLES, RoleTable};
pub use state::{HrStateReader, HrStateWriter};
pub use status::HrStatus;
pub use step::{STEP, StepTable};
pub use tensor::{
    ARG_BOOL, ARG_FLOAT, ARG_FLOATS, ARG_INT, ARG_INTS, ARG_NONE, ARG_TENSOR, ARG_TENSORS,
    ARG_TEXT, DLDevice, DLTensor, DataType, HrArg, HrOp, HrTensor, HrTensors, LIST_BUFFERS,
    LIST_GRADS, LIST_PARAMS, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT,
    TensorTable, VIEW_WRITE,
};
pub use text::HrStr;
pub use thunks::{HookExport, MetricExport, plugin_flags};
pub use trainer::{
    EngineTable, EventTable, HrMetricReading, HrProgress, HrScalarReading, LOG_DEBUG, LOG_ERROR,
    LOG_INFO, LOG_TRACE, LOG_WARN, METRIC_LATEST_EPOCH, METRIC_LATEST_STEP, REQUEST_SAVE,
    REQUEST_STOP, REQUEST_VALIDATE, StateTable, TrainerHandle,
};
pub use value::{
    HrValue, VALUE_BOOL, VALUE_FLOAT, VALUE_INT, VALUE_LIST, VALUE_NONE, VALUE_TABLE, VALUE_TEXT,
    WireTree,
};

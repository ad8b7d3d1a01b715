//! The shim's functions exactly as C++ declares them; nothing outside `torch` calls them.

use std::ffi::{c_char, c_int, c_void};

use torch_sys::C_tensor;

use super::amp::AutocastBefore;
use super::batch_norm::RawNorm;
use super::dlpack::RawView;
use super::optim::{AdamHyper, SgdHyper};
use super::profiler::RawCost;
use super::value::RawValue;

/// A found operator (`hookrack::Op`).
#[repr(C)]
pub(super) struct RawOp {
    _opaque: [u8; 0],
}

/// A list of tensors (`std::vector<at::Tensor>`).
#[repr(C)]
#[derive(Debug)]
pub struct RawList {
    _opaque: [u8; 0],
}

/// A range in a trace (`at::RecordFunction`).
#[repr(C)]
pub(super) struct RawRange {
    _opaque: [u8; 0],
}

/// A loaded TorchScript module (`torch::jit::Module`).
#[repr(C)]
pub(super) struct RawScript {
    _opaque: [u8; 0],
}

/// A traced graph with its executor.
#[repr(C)]
pub(super) struct RawGraph {
    _opaque: [u8; 0],
}

/// The reusable vectors of one optimizer step.
#[repr(C)]
pub(super) struct RawScratch {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    pub(super) fn hrt_start() -> *mut c_char;
    pub(super) fn hrt_free_message(message: *mut c_char);

    pub(super) fn hrt_op_find(
        name: *const c_char,
        length: usize,
        out: *mut *mut RawOp,
    ) -> *mut c_char;
    pub(super) fn hrt_op_free(op: *mut RawOp);
    pub(super) fn hrt_op_arguments(op: *const RawOp) -> usize;
    pub(super) fn hrt_op_returns(op: *const RawOp) -> usize;
    pub(super) fn hrt_op_effects(
        op: *const RawOp,
        written: *mut u64,
        shared: *mut u64,
        moves: *mut c_int,
    );
    pub(super) fn hrt_tensor_storage(tensor: *const C_tensor) -> usize;
    pub(super) fn hrt_op_schema(op: *const RawOp, out: *mut *mut c_char) -> *mut c_char;
    pub(super) fn hrt_op_call(
        op: *const RawOp,
        args: *const RawValue,
        count: usize,
        out: *mut RawValue,
        room: usize,
    ) -> *mut c_char;
    pub(super) fn hrt_value_free(value: *mut RawValue);

    pub(super) fn hrt_list_new(room: usize) -> *mut RawList;
    pub(super) fn hrt_list_free(list: *mut RawList);
    pub(super) fn hrt_list_len(list: *const RawList) -> usize;
    pub(super) fn hrt_list_push(list: *mut RawList, tensor: *const C_tensor);
    pub(super) fn hrt_list_clear(list: *mut RawList);
    pub(super) fn hrt_list_at(list: *mut RawList, index: usize) -> *mut C_tensor;
    pub(super) fn hrt_list_grads(params: *const RawList, out: *mut RawList) -> *mut c_char;
    pub(super) fn hrt_list_clear_grads(params: *const RawList) -> *mut c_char;
    pub(super) fn hrt_list_slice_grads(
        wholes: *const RawList,
        parts: *const RawList,
        starts: *const i64,
    ) -> *mut c_char;
    pub(super) fn hrt_max_pool_relu(input: *const C_tensor, out: *mut *mut C_tensor)
    -> *mut c_char;
    pub(super) fn hrt_linear(
        input: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        relu: bool,
        out: *mut *mut C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_batch_norm(
        input: *const C_tensor,
        other: *const C_tensor,
        norm: *const RawNorm,
        relu: bool,
        out: *mut *mut C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_list_norm(
        list: *const RawList,
        p: f64,
        out: *mut *mut C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_list_mul_scalar(list: *const RawList, factor: f64) -> *mut c_char;
    pub(super) fn hrt_list_mul_tensor(list: *const RawList, factor: *const C_tensor)
    -> *mut c_char;
    pub(super) fn hrt_list_zero(list: *const RawList) -> *mut c_char;
    pub(super) fn hrt_list_lerp(
        list: *const RawList,
        toward: *const RawList,
        weight: f64,
    ) -> *mut c_char;
    pub(super) fn hrt_list_copy(list: *const RawList, source: *const RawList) -> *mut c_char;
    pub(super) fn hrt_list_clone_detached(
        list: *const RawList,
        out: *mut *mut RawList,
    ) -> *mut c_char;

    pub(super) fn hrt_gather(
        params: *const RawList,
        active: *mut RawList,
        grads: *mut RawList,
    ) -> *mut c_char;
    pub(super) fn hrt_gather_state(
        params: *const RawList,
        state: *const RawList,
        active: *mut RawList,
    ) -> *mut c_char;
    pub(super) fn hrt_scratch_new() -> *mut RawScratch;
    pub(super) fn hrt_scratch_free(scratch: *mut RawScratch);
    pub(super) fn hrt_adam_step(
        params: *const RawList,
        averages: *const RawList,
        squares: *const RawList,
        max_squares: *const RawList,
        steps: *const RawList,
        scratch: *mut RawScratch,
        hyper: *const AdamHyper,
    ) -> *mut c_char;
    pub(super) fn hrt_sgd_step(
        params: *const RawList,
        buffers: *mut RawList,
        scratch: *mut RawScratch,
        hyper: *const SgdHyper,
    ) -> *mut c_char;

    pub(super) fn hrt_autocast_enter(
        cuda: bool,
        half: bool,
        before: *mut AutocastBefore,
    ) -> *mut c_char;
    pub(super) fn hrt_autocast_leave(cuda: bool, before: *const AutocastBefore) -> *mut c_char;
    pub(super) fn hrt_list_unscale(
        grads: *const RawList,
        factor: f64,
        found_inf: *mut bool,
    ) -> *mut c_char;

    pub(super) fn hrt_script_load(
        path: *const c_char,
        length: usize,
        cuda: bool,
        index: i8,
        out: *mut *mut RawScript,
    ) -> *mut c_char;
    pub(super) fn hrt_script_free(script: *mut RawScript);
    pub(super) fn hrt_script_tensors(
        script: *const RawScript,
        params: *mut RawList,
        names: *mut *mut c_char,
        buffers: *mut RawList,
        buffer_names: *mut *mut c_char,
    ) -> *mut c_char;
    pub(super) fn hrt_script_frozen_op(
        script: *const RawScript,
        out: *mut *mut c_char,
    ) -> *mut c_char;
    pub(super) fn hrt_script_train(script: *mut RawScript, on: bool) -> *mut c_char;
    pub(super) fn hrt_script_forward(
        script: *mut RawScript,
        input: *const C_tensor,
        out: *mut *mut C_tensor,
    ) -> *mut c_char;

    pub(super) fn hrt_trace_begin(inputs: *const RawList) -> *mut c_char;
    pub(super) fn hrt_trace_abandon() -> *mut c_char;
    pub(super) fn hrt_trace_end(output: *const C_tensor, out: *mut *mut RawGraph) -> *mut c_char;
    pub(super) fn hrt_graph_free(graph: *mut RawGraph);
    pub(super) fn hrt_graph_run(
        graph: *mut RawGraph,
        first: *const C_tensor,
        rest: *const RawList,
        out: *mut *mut C_tensor,
    ) -> *mut c_char;

    pub(super) fn hrt_backward(
        loss: *const C_tensor,
        grad: *const C_tensor,
        keep_graph: bool,
    ) -> *mut c_char;
    pub(super) fn hrt_backward_all(outputs: *mut RawList, grads: *mut RawList) -> *mut c_char;
    pub(super) fn hrt_rng_state(cuda: c_int, out: *mut *mut C_tensor) -> *mut c_char;
    pub(super) fn hrt_rng_set_state(cuda: c_int, state: *const C_tensor) -> *mut c_char;
    pub(super) fn hrt_keep_freed_memory() -> c_int;
    pub(super) fn hrt_unused_memory() -> usize;
    pub(super) fn hrt_use_native_kernels(used: bool);
    pub(super) fn hrt_cross_entropy(
        scores: *const C_tensor,
        labels: *const C_tensor,
        ignored: i64,
        out: *mut *mut C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_scale_bytes(
        from: *const u8,
        count: usize,
        factor: f32,
        rest: f32,
        to: *mut f32,
    );
    pub(super) fn hrt_set_threads(within_op: c_int, between_ops: c_int) -> *mut c_char;
    pub(super) fn hrt_threads_within_op() -> c_int;
    pub(super) fn hrt_threads_between_ops() -> c_int;
    pub(super) fn hrt_describe(tensor: *const C_tensor, out: *mut RawView) -> *mut c_char;
    pub(super) fn hrt_copy_of(view: *const RawView, out: *mut *mut C_tensor) -> *mut c_char;
    pub(super) fn hrt_adopt(
        view: *const RawView,
        context: *mut c_void,
        release: extern "C" fn(*mut c_void),
        out: *mut *mut C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_profiler_prepare(flags: u32) -> *mut c_char;
    pub(super) fn hrt_profiler_start(flags: u32) -> *mut c_char;
    pub(super) fn hrt_profiler_stop(
        path: *const c_char,
        length: usize,
        take: unsafe extern "C" fn(*mut c_void, *const RawCost),
        sink: *mut c_void,
    ) -> *mut c_char;
    pub(super) fn hrt_range_begin(name: *const c_char, length: usize) -> *mut RawRange;
    pub(super) fn hrt_range_end(range: *mut RawRange);
    pub(super) fn hrt_anomaly_mode(on: bool) -> *mut c_char;
    pub(super) fn hrt_version() -> *const c_char;
    pub(super) fn hrt_cpu_capability(out: *mut *mut c_char) -> *mut c_char;
}

//! The shim's functions about several processes, exactly as C++ declares them.

use std::ffi::{c_char, c_int, c_void};

use torch_sys::C_tensor;

use crate::batch_norm::RawNorm;
use crate::ffi::RawList;

/// A store (`hookrack::Store`).
#[repr(C)]
pub(super) struct RawStore {
    _opaque: [u8; 0],
}

/// A process group (`hookrack::Group`).
#[repr(C)]
pub(super) struct RawGroup {
    _opaque: [u8; 0],
}

/// A collective that was started (`c10d::Work`).
#[repr(C)]
pub(super) struct RawWork {
    _opaque: [u8; 0],
}

/// A reducer of gradients (`c10d::Reducer`).
#[repr(C)]
pub(super) struct RawReducer {
    _opaque: [u8; 0],
}

/// Takes bytes that the shim lends until it returns.
pub(super) type Take = unsafe extern "C" fn(*mut c_void, *const u8, usize);

unsafe extern "C" {
    pub(super) fn hrt_store_connect(
        host: *const c_char,
        port: u16,
        is_server: bool,
        listener: c_int,
        timeout_ms: u64,
        out: *mut *mut RawStore,
    ) -> *mut c_char;
    pub(super) fn hrt_store_clone(store: *mut RawStore, out: *mut *mut RawStore) -> *mut c_char;
    pub(super) fn hrt_store_prefix(
        store: *mut RawStore,
        prefix: *const c_char,
        out: *mut *mut RawStore,
    ) -> *mut c_char;
    pub(super) fn hrt_store_free(store: *mut RawStore);
    pub(super) fn hrt_store_set(
        store: *mut RawStore,
        key: *const c_char,
        bytes: *const u8,
        length: usize,
    ) -> *mut c_char;
    pub(super) fn hrt_store_add(
        store: *mut RawStore,
        key: *const c_char,
        amount: i64,
        out: *mut i64,
    ) -> *mut c_char;
    pub(super) fn hrt_store_has(
        store: *mut RawStore,
        key: *const c_char,
        out: *mut bool,
    ) -> *mut c_char;
    pub(super) fn hrt_store_get_all(
        store: *mut RawStore,
        keys: *const *const c_char,
        count: usize,
        take: Take,
        taker: *mut c_void,
    ) -> *mut c_char;
    pub(super) fn hrt_store_get(
        store: *mut RawStore,
        key: *const c_char,
        timeout_ms: u64,
        take: Take,
        taker: *mut c_void,
    ) -> *mut c_char;

    pub(super) fn hrt_group_new(
        store: *mut RawStore,
        rank: c_int,
        world: c_int,
        name: *const c_char,
        host: *const c_char,
        is_interface: bool,
        nccl: bool,
        timeout_ms: u64,
        out: *mut *mut RawGroup,
    ) -> *mut c_char;
    pub(super) fn hrt_group_free(group: *mut RawGroup);
    pub(super) fn hrt_all_reduce_start(
        group: *mut RawGroup,
        tensor: *const C_tensor,
        op: u32,
        out: *mut *mut RawWork,
    ) -> *mut c_char;
    pub(super) fn hrt_work_wait(work: *mut RawWork) -> *mut c_char;
    pub(super) fn hrt_work_wait_for(
        work: *mut RawWork,
        timeout_ms: u64,
        done: *mut bool,
    ) -> *mut c_char;
    pub(super) fn hrt_work_free(work: *mut RawWork);
    pub(super) fn hrt_send_start(
        group: *mut RawGroup,
        tensor: *const C_tensor,
        peer: c_int,
        tag: c_int,
        out: *mut *mut RawWork,
    ) -> *mut c_char;
    pub(super) fn hrt_recv_start(
        group: *mut RawGroup,
        tensor: *const C_tensor,
        peer: c_int,
        tag: c_int,
        out: *mut *mut RawWork,
    ) -> *mut c_char;
    pub(super) fn hrt_broadcast(
        group: *mut RawGroup,
        tensor: *const C_tensor,
        root: c_int,
    ) -> *mut c_char;
    pub(super) fn hrt_all_gather(
        group: *mut RawGroup,
        out: *const C_tensor,
        tensor: *const C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_sync_batch_norm(
        group: *mut RawGroup,
        input: *const C_tensor,
        norm: *const RawNorm,
        out: *mut *mut C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_barrier(group: *mut RawGroup) -> *mut c_char;
    pub(super) fn hrt_log_quietly() -> *mut c_char;
    pub(super) fn hrt_flight_record(take: Take, taker: *mut c_void) -> *mut c_char;

    pub(super) fn hrt_bucket_bytes(
        params: *const RawList,
        first: usize,
        cap: usize,
        out: *mut usize,
        count: *mut usize,
    ) -> *mut c_char;
    pub(super) fn hrt_reducer_new(
        params: *const RawList,
        names: *const *const c_char,
        group: *mut RawGroup,
        first: usize,
        cap: usize,
        find_unused: bool,
        half: bool,
        out: *mut *mut RawReducer,
    ) -> *mut c_char;
    pub(super) fn hrt_reducer_free(reducer: *mut RawReducer);
    pub(super) fn hrt_reducer_forward(reducer: *mut RawReducer) -> *mut c_char;
    pub(super) fn hrt_reducer_backward(
        reducer: *mut RawReducer,
        output: *const C_tensor,
    ) -> *mut c_char;
    pub(super) fn hrt_first_without_grad(params: *const RawList) -> usize;
}

//! Tensors by name, for plugins: from files, and shared between hooks.

use super::desk::Desk;
use crate::context::Lease;
use crate::run::named_tensors;
use hookrack_plugin_api::abi::{HrHeader, HrStatus, HrStr, HrTensor, NamedTensorTable};
use std::cell::RefCell;
use std::ffi::c_void;
use std::path::Path;
use tch::Tensor;

/// The host's table of named tensors.
pub(super) static TABLE: NamedTensorTable = NamedTensorTable {
    header: HrHeader::of::<NamedTensorTable>(0),
    load,
    take,
    put,
    tensor,
    remove,
};

thread_local! {
    // What was read last: the names are lent until the next time, the tensors are taken one by one.
    static READ: RefCell<Vec<(String, Option<Tensor>)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn load(host: *mut c_void, path: HrStr, count: *mut usize) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the path until this returns.
    let (desk, path) = unsafe { (Desk::of(host), path.to_lossy()) };
    desk.answer(|_| {
        let tensors = named_tensors::read(Path::new(path.as_ref())).map_err(|e| e.to_string())?;
        // SAFETY: the caller gives a place for one number.
        unsafe { count.write(tensors.len()) };
        READ.set(tensors.into_iter().map(|(name, tensor)| (name, Some(tensor))).collect());
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn take(
    host: *mut c_void,
    index: usize,
    name: *mut HrStr,
    tensor: *mut HrTensor,
) -> HrStatus {
    // SAFETY: the caller's handle is ours.
    unsafe { Desk::of(host) }.serve(|context| {
        READ.with_borrow_mut(|read| {
            let Some((text, taken)) = read.get_mut(index) else { return Ok(HrStatus::ABSENT) };
            let Some(taken) = taken.take() else { return Ok::<_, String>(HrStatus::ABSENT) };
            let handle = context.arena.borrow_mut().insert(taken, Lease::Owned);
            // SAFETY: the caller gives a place for one text and one handle; the text stays until the next `load`.
            unsafe {
                name.write(HrStr::new(text));
                tensor.write(handle);
            }
            Ok(HrStatus::OK)
        })
    })
}

unsafe extern "C" fn put(host: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the key until this returns.
    let (desk, key) = unsafe { (Desk::of(host), key.to_lossy()) };
    desk.answer(|context| {
        let arena = context.arena.borrow();
        let shared = arena.tensor(tensor).map_err(|e| e.to_string())?.shallow_clone();
        context.state_tensors.borrow_mut().insert(key.into_owned(), shared);
        Ok::<_, String>(())
    })
}

unsafe extern "C" fn tensor(host: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the key until this returns.
    let (desk, key) = unsafe { (Desk::of(host), key.to_lossy()) };
    desk.serve(|context| {
        let shared = context.state_tensors.borrow().get(key.as_ref()).map(Tensor::shallow_clone);
        let Some(shared) = shared else { return Ok::<_, String>(HrStatus::ABSENT) };
        let handle = context.arena.borrow_mut().insert(shared, Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { out.write(handle) };
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn remove(host: *mut c_void, key: HrStr) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the key until this returns.
    let (desk, key) = unsafe { (Desk::of(host), key.to_lossy()) };
    desk.serve(|context| {
        let removed = context.state_tensors.borrow_mut().remove(key.as_ref());
        Ok::<_, String>(if removed.is_some() { HrStatus::OK } else { HrStatus::ABSENT })
    })
}

//! Tensors by name, for plugins: from files, and shared between hooks.

use super::service::{service, table};
use crate::context::Lease;
use crate::run::named_tensors;
use hookrack_plugin_api::abi::{HrStatus, HrStr, HrTensor};
use std::cell::RefCell;
use std::ffi::c_void;
use std::path::Path;
use tch::Tensor;

table!(NamedTensorTable { load, take, put, tensor, remove });

thread_local! {
    // What was read last: the names are lent until the next time, the tensors are taken one by one.
    static READ: RefCell<Vec<(String, Option<Tensor>)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn load(host: *mut c_void, path: HrStr, count: *mut usize) -> HrStatus {
    service!(host, text(path), out(count), |_| {
        let tensors = named_tensors::read(Path::new(path.as_ref()))?;
        let count = tensors.len();
        READ.set(tensors.into_iter().map(|(name, tensor)| (name, Some(tensor))).collect());
        Ok(count)
    })
}

unsafe extern "C" fn take(
    host: *mut c_void,
    index: usize,
    name: *mut HrStr,
    tensor: *mut HrTensor,
) -> HrStatus {
    service!(host, found(tensor), |context| READ.with_borrow_mut(|read| {
        let Some((text, taken)) = read.get_mut(index) else { return Ok(None) };
        // SAFETY: the caller gives a place for one text, which stays until the next `load`.
        unsafe { name.write(HrStr::new(text)) };
        Ok(taken.take().map(|taken| context.hand_over(taken)))
    }))
}

unsafe extern "C" fn put(host: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus {
    service!(host, text(key), |context| {
        let arena = context.arena.borrow();
        let shared = (arena.tensor(tensor)?.shallow_clone(), arena.part(tensor)?);
        context.state_tensors.borrow_mut().insert(key.into_owned(), shared);
        Ok(())
    })
}

unsafe extern "C" fn tensor(host: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus {
    service!(host, text(key), found(out), |context| {
        let shared = context.state_tensors.borrow();
        let mut arena = context.arena.borrow_mut();
        Ok(shared
            .get(key.as_ref())
            .map(|(tensor, part)| arena.insert_part(tensor.shallow_clone(), Lease::Owned, *part)))
    })
}

unsafe extern "C" fn remove(host: *mut c_void, key: HrStr) -> HrStatus {
    service!(host, text(key), |context| {
        Ok(context.state_tensors.borrow_mut().remove(key.as_ref()).map(drop))
    })
}

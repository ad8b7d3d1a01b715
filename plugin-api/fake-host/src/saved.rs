//! A plugin's saved state, and the tables through which it goes in and out.

use crate::arena::Data;
use crate::{World, services};
use hookrack_plugin_api::Value;
use hookrack_plugin_api::abi::{
    HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrTensor, HrValue,
};
use std::collections::BTreeMap;
use std::ffi::c_void;

/// What an instance saved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// Values by key.
    pub values: BTreeMap<String, Value>,
    /// Tensors' contents by key.
    pub tensors: BTreeMap<String, Data>,
}

/// A state on its way, and the world whose tensors it names.
pub(crate) struct Way<'a> {
    pub(crate) saved: &'a mut Saved,
    pub(crate) world: &'static World,
}

impl Way<'_> {
    /// # Safety
    /// `way` is the pointer of a table that this file made, which is still alive.
    unsafe fn of<'a>(way: *mut c_void) -> &'a mut Way<'a> {
        // SAFETY: by the contract.
        unsafe { &mut *way.cast() }
    }

    pub(crate) fn writer(&mut self) -> HrStateWriter {
        let header = HrHeader::of::<HrStateWriter>(0);
        HrStateWriter { header, sink: std::ptr::from_mut(self).cast(), put_value, put_tensor }
    }

    pub(crate) fn reader(&mut self) -> HrStateReader {
        let header = HrHeader::of::<HrStateReader>(0);
        HrStateReader { header, source: std::ptr::from_mut(self).cast(), value, tensor }
    }
}

unsafe extern "C" fn put_value(sink: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus {
    // SAFETY: the table is ours; the plugin lends key and tree until this returns.
    let (way, key, value) =
        unsafe { (Way::of(sink), key.to_lossy().into_owned(), (*value).to_value()) };
    match value {
        Some(value) => {
            way.saved.values.insert(key, value);
            HrStatus::OK
        }
        None => HrStatus::ERROR,
    }
}

unsafe extern "C" fn put_tensor(sink: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus {
    // SAFETY: the table is ours; the plugin lends the key until this returns.
    let (way, key) = unsafe { (Way::of(sink), key.to_lossy().into_owned()) };
    let data = way.world.arena.borrow().data(tensor);
    way.saved.tensors.insert(key, data);
    HrStatus::OK
}

unsafe extern "C" fn value(source: *mut c_void, key: HrStr) -> *const HrValue {
    // SAFETY: the table is ours; the plugin lends the key until this returns.
    let (way, key) = unsafe { (Way::of(source), key.to_lossy()) };
    services::lend(way.saved.values.get(key.as_ref()))
}

unsafe extern "C" fn tensor(source: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus {
    // SAFETY: the table is ours; the plugin lends the key until this returns.
    let (way, key) = unsafe { (Way::of(source), key.to_lossy()) };
    let Some(data) = way.saved.tensors.get(key.as_ref()) else { return HrStatus::ABSENT };
    let id = way.world.arena.borrow_mut().add(data.clone());
    // SAFETY: the plugin gives a place for one handle.
    unsafe { out.write(id) };
    HrStatus::OK
}

//! A hook's state on the host's side: gathered for a checkpoint, and given back from one.

use super::instance::StateFailure;
use super::services::Desk;
use crate::saved_state::SavedState;
use crate::train::{Context, Lease};
use hookrack_plugin_api::abi::{
    HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrTensor, HrValue, WireTree,
};
use std::cell::RefCell;
use std::ffi::c_void;

struct Sink<'a> {
    context: &'a Context,
    state: RefCell<SavedState>,
}

/// Has `save` fill a writer, and gives what it put there.
///
/// # Errors
/// What `save` says.
pub fn gather(
    context: &Context,
    save: impl FnOnce(&HrStateWriter) -> Result<(), StateFailure>,
) -> Result<SavedState, StateFailure> {
    let sink = Sink { context, state: RefCell::default() };
    let writer = HrStateWriter {
        header: HrHeader::of::<HrStateWriter>(0),
        sink: (&raw const sink).cast_mut().cast(),
        put_value,
        put_tensor,
    };
    save(&writer)?;
    Ok(sink.state.into_inner())
}

unsafe extern "C" fn put_value(sink: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus {
    // SAFETY: `gather` made the sink and waits; key and value are lent until this returns.
    let (sink, key, value) = unsafe {
        (&*sink.cast::<Sink<'_>>(), key.to_lossy(), value.as_ref().and_then(|v| v.to_value()))
    };
    Desk::guard_calling(|| {
        let value = value.ok_or("the value is none, or of a kind that this host does not know")?;
        sink.state.borrow_mut().values.insert(key.into_owned(), value);
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn put_tensor(sink: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus {
    // SAFETY: `gather` made the sink and waits; the key is lent until this returns.
    let (sink, key) = unsafe { (&*sink.cast::<Sink<'_>>(), key.to_lossy()) };
    Desk::guard_calling(|| {
        let arena = sink.context.arena.borrow();
        let tensor = arena.tensor(tensor).map_err(|error| error.to_string())?;
        sink.state.borrow_mut().tensors.insert(key.into_owned(), tensor.shallow_clone());
        Ok(HrStatus::OK)
    })
}

struct Source<'a> {
    context: &'a Context,
    state: &'a SavedState,
    // Values lent so far: they live until the hook returns.
    #[expect(clippy::vec_box, reason = "a lent tree keeps its address while the list grows")]
    lent: RefCell<Vec<Box<WireTree<'a>>>>,
}

/// Has `load` read a hook's state from a reader.
///
/// # Errors
/// What `load` says.
pub fn give_back(
    context: &Context,
    state: &SavedState,
    load: impl FnOnce(&HrStateReader) -> Result<(), String>,
) -> Result<(), String> {
    let source = Source { context, state, lent: RefCell::default() };
    let reader = HrStateReader {
        header: HrHeader::of::<HrStateReader>(0),
        source: (&raw const source).cast_mut().cast(),
        value,
        tensor,
    };
    load(&reader)
}

unsafe extern "C" fn value(source: *mut c_void, key: HrStr) -> *const HrValue {
    // SAFETY: `give_back` made the source and waits; the key is lent until this returns.
    let (source, key) = unsafe { (&*source.cast::<Source<'_>>(), key.to_lossy()) };
    let mut pointer = std::ptr::null();
    Desk::guard_calling(|| {
        let Some(value) = source.state.values.get(key.as_ref()) else {
            return Ok(HrStatus::ABSENT);
        };
        let tree = Box::new(WireTree::new(value));
        pointer = tree.as_ptr();
        source.lent.borrow_mut().push(tree);
        Ok(HrStatus::OK)
    });
    pointer
}

unsafe extern "C" fn tensor(source: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus {
    // SAFETY: `give_back` made the source and waits; the key is lent until this returns.
    let (source, key) = unsafe { (&*source.cast::<Source<'_>>(), key.to_lossy()) };
    Desk::guard_calling(|| {
        let Some(tensor) = source.state.tensors.get(key.as_ref()) else {
            return Ok(HrStatus::ABSENT);
        };
        // A copy: what the hook does with it must not change what was read.
        let handle = source.context.arena.borrow_mut().insert(tensor.copy(), Lease::Owned);
        // SAFETY: the caller gives a place for one handle.
        unsafe { out.write(handle) };
        Ok(HrStatus::OK)
    })
}

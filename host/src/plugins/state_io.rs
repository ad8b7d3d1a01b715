//! Collects a hook's state for a checkpoint, and returns it from one.

use super::instance::StateFailure;
use super::services::Endpoint;
use super::wire_value::{LARGEST, size, taken_in};
use crate::context::{Context, Lease};
use crate::engine::SavedState;
use crate::run::safetensors_file;
use hookrack_plugin_api::abi::{
    HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrTensor, HrValue, WireTree,
};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;

struct Sink<'a> {
    context: &'a Context,
    state: RefCell<SavedState>,
    // The bytes of the values so far.
    bytes: Cell<usize>,
    // Why the first thing that cannot be saved was not taken.
    refused: RefCell<Option<String>>,
}

impl Sink<'_> {
    fn refuse(&self, key: &str, why: String) -> String {
        let mut refused = self.refused.borrow_mut();
        refused.get_or_insert_with(|| format!("`{key}` cannot be saved: {why}"));
        why
    }
}

/// Calls `save` with a writer, and returns what it wrote.
///
/// # Errors
/// The error of `save`, or that it wrote what a checkpoint cannot hold: it may have ignored that status.
pub fn gather(
    context: &Context,
    save: impl FnOnce(&HrStateWriter) -> Result<(), StateFailure>,
) -> Result<SavedState, StateFailure> {
    let (state, refused) = (RefCell::default(), RefCell::default());
    let sink = Sink { context, state, bytes: Cell::new(0), refused };
    let writer = HrStateWriter {
        header: HrHeader::of::<HrStateWriter>(0),
        sink: (&raw const sink).cast_mut().cast(),
        put_value,
        put_tensor,
    };
    let saved = save(&writer);
    match (saved, sink.refused.into_inner()) {
        (Ok(()), None) => Ok(sink.state.into_inner()),
        (Err(failure), None) => Err(failure),
        // A hook that passes a refusal on does not know its reason.
        (saved, Some(why)) => {
            Err(StateFailure { panicked: saved.is_err_and(|failure| failure.panicked), why })
        }
    }
}

unsafe extern "C" fn put_value(sink: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus {
    // SAFETY: `gather` made the sink and waits; key and value are lent until this returns.
    let (sink, key, value) =
        unsafe { (&*sink.cast::<Sink<'_>>(), key.to_lossy(), taken_in(value)) };
    Endpoint::guard_calling(|| {
        let value = value.map_err(|why| sink.refuse(&key, why))?;
        sink.bytes.set(sink.bytes.get().saturating_add(size(&value)));
        if sink.bytes.get() > LARGEST {
            let why = format!(
                "the values of its state exceed {} MiB in total: save large data as tensors",
                LARGEST >> 20
            );
            return Err(sink.refuse(&key, why));
        }
        sink.state.borrow_mut().values.insert(key.into_owned(), value);
        Ok(HrStatus::OK)
    })
}

unsafe extern "C" fn put_tensor(sink: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus {
    // SAFETY: `gather` made the sink and waits; the key is lent until this returns.
    let (sink, key) = unsafe { (&*sink.cast::<Sink<'_>>(), key.to_lossy()) };
    Endpoint::guard_calling(|| {
        let arena = sink.context.arena.borrow();
        let tensor = arena.tensor(tensor).map_err(|error| error.to_string());
        let tensor = tensor.and_then(safetensors_file::storable);
        let tensor = tensor.map_err(|why| sink.refuse(&key, why))?;
        sink.state.borrow_mut().tensors.insert(key.into_owned(), tensor);
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

/// Calls `load` with a reader of a hook's state.
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
    Endpoint::guard_calling(|| {
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
    Endpoint::guard_calling(|| {
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

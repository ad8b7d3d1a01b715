//! Keys of a state under a prefix: a metric saves one object for each phase that it is computed in.

use super::services::Endpoint;
use hookrack_plugin_api::abi::{
    HrHeader, HrStateReader, HrStateWriter, HrStatus, HrStr, HrTensor, HrValue,
};
use std::ffi::c_void;

/// A writer or a reader, and the prefix of each key.
struct Scoped<'a, T> {
    inner: &'a T,
    prefix: &'a str,
}

impl<T> Scoped<'_, T> {
    /// # Safety
    /// The key is lent for the call.
    unsafe fn key(&self, key: HrStr) -> String {
        // SAFETY: by the contract.
        format!("{}.{}", self.prefix, unsafe { key.to_lossy() })
    }
}

/// Calls `save` with a prefix for all keys.
pub(super) fn write_under(
    writer: &HrStateWriter,
    prefix: &str,
    save: impl FnOnce(*const HrStateWriter) -> HrStatus,
) -> HrStatus {
    let scoped = Scoped { inner: writer, prefix };
    save(&HrStateWriter {
        header: HrHeader::of::<HrStateWriter>(0),
        sink: (&raw const scoped).cast_mut().cast(),
        put_value,
        put_tensor,
    })
}

/// Calls `load` with a prefix for all keys.
pub(super) fn read_under(
    reader: &HrStateReader,
    prefix: &str,
    load: impl FnOnce(*const HrStateReader) -> HrStatus,
) -> HrStatus {
    let scoped = Scoped { inner: reader, prefix };
    load(&HrStateReader {
        header: HrHeader::of::<HrStateReader>(0),
        source: (&raw const scoped).cast_mut().cast(),
        value,
        tensor,
    })
}

unsafe extern "C" fn put_value(sink: *mut c_void, key: HrStr, value: *const HrValue) -> HrStatus {
    // SAFETY: `write_under` made the sink and waits; key and value are lent until this returns.
    Endpoint::guard_calling(|| unsafe {
        let scoped = &*sink.cast::<Scoped<'_, HrStateWriter>>();
        let key = scoped.key(key);
        Ok((scoped.inner.put_value)(scoped.inner.sink, HrStr::new(&key), value))
    })
}

unsafe extern "C" fn put_tensor(sink: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus {
    // SAFETY: `write_under` made the sink and waits; the key is lent until this returns.
    Endpoint::guard_calling(|| unsafe {
        let scoped = &*sink.cast::<Scoped<'_, HrStateWriter>>();
        let key = scoped.key(key);
        Ok((scoped.inner.put_tensor)(scoped.inner.sink, HrStr::new(&key), tensor))
    })
}

unsafe extern "C" fn value(source: *mut c_void, key: HrStr) -> *const HrValue {
    let mut found = std::ptr::null();
    // SAFETY: `read_under` made the source and waits; the key is lent until this returns.
    Endpoint::guard_calling(|| unsafe {
        let scoped = &*source.cast::<Scoped<'_, HrStateReader>>();
        let key = scoped.key(key);
        found = (scoped.inner.value)(scoped.inner.source, HrStr::new(&key));
        Ok(HrStatus::OK)
    });
    found
}

unsafe extern "C" fn tensor(source: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus {
    // SAFETY: `read_under` made the source and waits; the key is lent until this returns, and `out` is a place for
    // one handle.
    Endpoint::guard_calling(|| unsafe {
        let scoped = &*source.cast::<Scoped<'_, HrStateReader>>();
        let key = scoped.key(key);
        Ok((scoped.inner.tensor)(scoped.inner.source, HrStr::new(&key), out))
    })
}

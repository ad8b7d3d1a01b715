//! The C functions around an author's Rust code: they create, call and destroy instances, and catch panics.

use super::{
    FLAG_PANIC_ABORT, FLAG_RUST, HookBase, Host, HrHeader, HrScalarSink, HrStateReader,
    HrStateWriter, HrStatus, HrStr, HrValue, METRIC_SO_FAR, METRIC_STEP, MetricBase, TrainerHandle,
};
use crate::error::{Error, Result};
use crate::hook::{Hook, HookInfo, dispatch};
use crate::metric::{Metric, MetricInfo, Scalars};
use crate::state::{StateReader, StateWriter};
use crate::trainer::Trainer;
use crate::value::{Value, from_value};
use serde::de::DeserializeOwned;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The flags of a library made by this crate.
pub const fn plugin_flags() -> u64 {
    FLAG_RUST | if cfg!(panic = "abort") { FLAG_PANIC_ABORT } else { 0 }
}

/// An instance and the handle that it was made for.
struct Instance<T> {
    host: Host,
    it: T,
}

/// Runs the author's code; a panic or an error becomes a status, its text goes to the host.
///
/// `AssertUnwindSafe`: after a panic the host never calls the instance again but to destroy it.
fn guarded(host: Host, body: impl FnOnce() -> Result<()>) -> HrStatus {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => HrStatus::OK,
        Ok(Err(error)) => {
            host.set_error(&error.to_string());
            HrStatus::ERROR
        }
        Err(payload) => {
            host.set_error(&crate::panics::describe(payload.as_ref()));
            HrStatus::PANIC
        }
    }
}

/// # Safety
/// As for `create` of the tables: a valid handle, a whole settings tree, a place for one pointer.
unsafe extern "C" fn create<T: DeserializeOwned>(
    trainer: *const TrainerHandle,
    settings: *const HrValue,
    out: *mut *mut c_void,
) -> HrStatus {
    // SAFETY: the host vouches for handle and settings.
    let (host, settings) =
        unsafe { (Host::from_raw(trainer), settings.as_ref().and_then(|s| s.to_value())) };
    guarded(host, || {
        crate::log::connect(host);
        let it = from_value::<T>(settings.unwrap_or_else(Value::empty))?;
        let instance = Box::into_raw(Box::new(Instance { host, it }));
        // SAFETY: the host gave a place for one pointer.
        unsafe { out.write(instance.cast()) };
        Ok(())
    })
}

/// # Safety
/// `instance` was made by `create::<T>` and is not used again.
unsafe extern "C" fn destroy<T>(instance: *mut c_void) {
    // SAFETY: it came from `Box::into_raw` in `create`.
    let instance = unsafe { Box::from_raw(instance.cast::<Instance<T>>()) };
    let host = instance.host;
    guarded(host, || {
        drop(instance);
        Ok(())
    });
}

/// # Safety
/// `instance` was made by `create::<T>` and nobody else is using it.
unsafe fn with<T>(
    instance: *mut c_void,
    body: impl FnOnce(&mut T, Host) -> Result<()>,
) -> HrStatus {
    // SAFETY: the caller vouches for the instance; the host calls from one thread, one call at a time.
    let instance = unsafe { &mut *instance.cast::<Instance<T>>() };
    let host = instance.host;
    guarded(host, || body(&mut instance.it, host))
}

/// The C functions of a table, each around code that gets the instance and its host.
macro_rules! thunks {
    ($($function:ident($it:ident: $ty:ty, $host:pat $(, $arg:ident: $arg_ty:ty)*) $body:block)*) => { $(
        unsafe extern "C" fn $function(instance: *mut c_void $(, $arg: $arg_ty)*) -> HrStatus {
            // SAFETY: the host calls by the contract of the table's field of this name; what it lends stays until this
            // returns.
            unsafe { with(instance, |$it: &mut $ty, $host| $body) }
        }
    )* };
}

/// Makes the table of a hook type.
pub struct HookExport<T>(PhantomData<T>);

impl<T: Hook + HookInfo + DeserializeOwned> HookExport<T> {
    /// The table under which `T` is known as `name`.
    pub const fn table(name: &'static str, manifest: unsafe extern "C" fn() -> HrStr) -> HookBase {
        HookBase {
            header: HrHeader::of::<HookBase>(plugin_flags()),
            name: HrStr::new(name),
            manifest,
            create: create::<T>,
            destroy: destroy::<T>,
            on_point: Self::on_point,
            save_state: Self::save_state,
            load_state: Self::load_state,
        }
    }

    thunks! {
        on_point(hook: T, host, point: u32, _trainer: *const TrainerHandle) {
            dispatch(hook, point, &mut Trainer::new(host))
        }
        save_state(hook: T, host, writer: *const HrStateWriter) {
            let mut state = StateWriter::new(host, &*writer);
            hook.save_fields(&mut state)?;
            hook.save_state(&mut state)
        }
        load_state(hook: T, host, reader: *const HrStateReader) {
            let state = StateReader::new(host, &*reader);
            hook.load_fields(&state)?;
            hook.load_state(&state)
        }
    }
}

/// Makes the table of a metric type.
pub struct MetricExport<T>(PhantomData<T>);

impl<T: Metric + MetricInfo + DeserializeOwned> MetricExport<T> {
    /// The table under which `T` is known as `name`.
    pub const fn table(
        name: &'static str,
        manifest: unsafe extern "C" fn() -> HrStr,
    ) -> MetricBase {
        MetricBase {
            header: HrHeader::of::<MetricBase>(plugin_flags()),
            name: HrStr::new(name),
            manifest,
            create: create::<T>,
            destroy: destroy::<T>,
            update: Self::update,
            compute: Self::compute,
            reset: Self::reset,
            save_state: Self::save_state,
            load_state: Self::load_state,
            merge: Self::merge,
        }
    }

    thunks! {
        update(metric: T, host, _trainer: *const TrainerHandle) {
            metric.update(&mut Trainer::new(host))
        }
        compute(metric: T, host, scope: u32, sink: *const HrScalarSink) {
            let mut scalars = Scalars::new(&*sink);
            if scope == METRIC_STEP {
                return metric.step_values(&mut scalars);
            }
            metric.values(&mut scalars)?;
            if scope == METRIC_SO_FAR {
                return Ok(());
            }
            metric.report(&mut Trainer::new(host))
        }
        reset(metric: T, _) {
            metric.reset();
            Ok(())
        }
        save_state(metric: T, host, writer: *const HrStateWriter) {
            let mut state = StateWriter::new(host, &*writer);
            metric.save_fields(&mut state)?;
            metric.save_state(&mut state)
        }
        load_state(metric: T, host, reader: *const HrStateReader) {
            metric.load_state(&StateReader::new(host, &*reader))
        }
        merge(metric: T, host, reader: *const HrStateReader) {
            metric.merge(&StateReader::new(host, &*reader))
        }
    }
}

impl HrStateWriter {
    /// Saves a value.
    pub(crate) fn value(&self, key: &str, value: &Value) -> HrStatus {
        let tree = super::WireTree::new(value);
        // SAFETY: key and tree are lent until the call returns; the host filled the table.
        unsafe { (self.put_value)(self.sink, HrStr::new(key), tree.as_ptr()) }
    }

    /// Saves a tensor.
    pub(crate) fn tensor(&self, key: &str, tensor: super::HrTensor) -> HrStatus {
        // SAFETY: the key is lent until the call returns.
        unsafe { (self.put_tensor)(self.sink, HrStr::new(key), tensor) }
    }
}

impl HrStateReader {
    /// A saved value.
    pub(crate) fn read_value(&self, key: &str) -> Option<Value> {
        // SAFETY: the key is lent until the call returns; the tree is copied at once.
        unsafe { (self.value)(self.source, HrStr::new(key)).as_ref()?.to_value() }
    }

    /// A saved tensor, owned by the caller.
    pub(crate) fn read_tensor(&self, key: &str) -> (HrStatus, super::HrTensor) {
        let mut out = super::HrTensor::NONE;
        // SAFETY: the key is lent until the call returns; the host writes one handle.
        let status = unsafe { (self.tensor)(self.source, HrStr::new(key), &raw mut out) };
        (status, out)
    }
}

impl HrScalarSink {
    /// Takes one value.
    pub(crate) fn scalar(&self, suffix: &str, value: f64) -> Result<()> {
        // SAFETY: the suffix is lent until the call returns.
        let status = unsafe { (self.put)(self.sink, HrStr::new(suffix), value) };
        if status == HrStatus::OK { Ok(()) } else { Err(Error::new("the host rejected the value")) }
    }
}

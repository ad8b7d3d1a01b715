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

    unsafe extern "C" fn on_point(
        instance: *mut c_void,
        point: u32,
        _trainer: *const TrainerHandle,
    ) -> HrStatus {
        // SAFETY: the host calls by the contract of `HookBase::on_point`.
        unsafe {
            with(instance, |hook: &mut T, host| dispatch(hook, point, &mut Trainer::new(host)))
        }
    }

    unsafe extern "C" fn save_state(
        instance: *mut c_void,
        writer: *const HrStateWriter,
    ) -> HrStatus {
        // SAFETY: the host calls by the contract of `HookBase::save_state`.
        unsafe {
            with(instance, |hook: &mut T, host| {
                let mut state = StateWriter::new(host, &*writer);
                hook.save_fields(&mut state)?;
                hook.save_state(&mut state)
            })
        }
    }

    unsafe extern "C" fn load_state(
        instance: *mut c_void,
        reader: *const HrStateReader,
    ) -> HrStatus {
        // SAFETY: the host calls by the contract of `HookBase::load_state`.
        unsafe {
            with(instance, |hook: &mut T, host| {
                let state = StateReader::new(host, &*reader);
                hook.load_fields(&state)?;
                hook.load_state(&state)
            })
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

    unsafe extern "C" fn update(instance: *mut c_void, _trainer: *const TrainerHandle) -> HrStatus {
        // SAFETY: the host calls by the contract of `MetricBase::update`.
        unsafe { with(instance, |metric: &mut T, host| metric.update(&mut Trainer::new(host))) }
    }

    unsafe extern "C" fn compute(
        instance: *mut c_void,
        scope: u32,
        sink: *const HrScalarSink,
    ) -> HrStatus {
        // SAFETY: the host calls by the contract of `MetricBase::compute`.
        unsafe {
            with(instance, |metric: &mut T, host| {
                let mut scalars = Scalars::new(&*sink);
                if scope == METRIC_STEP {
                    return metric.step_values(&mut scalars);
                }
                metric.values(&mut scalars)?;
                if scope == METRIC_SO_FAR {
                    return Ok(());
                }
                metric.report(&mut Trainer::new(host))
            })
        }
    }

    unsafe extern "C" fn reset(instance: *mut c_void) -> HrStatus {
        // SAFETY: the host calls by the contract of `MetricBase::reset`.
        unsafe {
            with(instance, |metric: &mut T, _| {
                metric.reset();
                Ok(())
            })
        }
    }

    unsafe extern "C" fn save_state(
        instance: *mut c_void,
        writer: *const HrStateWriter,
    ) -> HrStatus {
        // SAFETY: the host calls by the contract of `MetricBase::save_state`.
        unsafe {
            with(instance, |metric: &mut T, host| {
                let mut state = StateWriter::new(host, &*writer);
                metric.save_fields(&mut state)?;
                metric.save_state(&mut state)
            })
        }
    }

    unsafe extern "C" fn load_state(
        instance: *mut c_void,
        reader: *const HrStateReader,
    ) -> HrStatus {
        // SAFETY: the host calls by the contract of `MetricBase::load_state`.
        unsafe {
            with(instance, |metric: &mut T, host| {
                metric.load_state(&StateReader::new(host, &*reader))
            })
        }
    }

    unsafe extern "C" fn merge(instance: *mut c_void, reader: *const HrStateReader) -> HrStatus {
        // SAFETY: the host calls by the contract of `MetricBase::merge`.
        unsafe {
            with(instance, |metric: &mut T, host| metric.merge(&StateReader::new(host, &*reader)))
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

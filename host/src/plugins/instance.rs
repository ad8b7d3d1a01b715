//! A live hook or metric: created, called, saved and destroyed only through its table.

use super::boundary::may_throw;
use super::metric_hook::MetricHook;
use super::metric_object::MetricObject;
use super::services::{Call, Caller, Endpoint, handle_for};
use super::{HookType, MetricType};
use crate::config::Phases;
use crate::context::{Context, RunParts};
use hookrack_plugin_api::abi::{
    HrStateReader, HrStateWriter, HrStatus, HrValue, TrainerHandle, WireTree,
};
use hookrack_plugin_api::{Phase, Point, Value};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::{Rc, Weak};

type OnPoint = unsafe extern "C" fn(*mut c_void, u32, *const TrainerHandle) -> HrStatus;
type SaveState = unsafe extern "C" fn(*mut c_void, *const HrStateWriter) -> HrStatus;
type LoadState = unsafe extern "C" fn(*mut c_void, *const HrStateReader) -> HrStatus;
type Create =
    unsafe extern "C" fn(*const TrainerHandle, *const HrValue, *mut *mut c_void) -> HrStatus;

/// Why a hook's state is not in a checkpoint.
#[derive(Clone, Debug)]
pub struct StateFailure {
    /// Whether it panicked: then it is not called again.
    pub panicked: bool,
    /// Its error message.
    pub why: String,
}

/// A live hook, or a metric in the place of one.
pub struct Instance(Rc<Inner>);

/// What an instance is: an object, the functions of its table, and the endpoint at which its calls arrive.
pub(super) struct Inner {
    pub(super) object: *mut c_void,
    pub(super) on_point: OnPoint,
    pub(super) save_state: SaveState,
    pub(super) load_state: LoadState,
    pub(super) destroy: unsafe extern "C" fn(*mut c_void),
    pub(super) endpoint: &'static Endpoint,
    pub(super) handle: &'static TrainerHandle,
    // What panicked is in no state to be called again.
    pub(super) has_panicked: Cell<bool>,
}

const PANICKED: &str = "it panicked before, and is not called again";

impl Inner {
    /// Calls it at a point.
    #[inline]
    pub(super) fn on_point(&self, point: Point) -> HrStatus {
        if self.has_panicked.get() {
            self.endpoint.set_error(PANICKED);
            return HrStatus::ERROR;
        }
        let status = self.endpoint.during(Call::Point(point), || self.call(point.code()));
        self.note(status)
    }

    /// The function of its table, with the code of a point.
    #[inline]
    fn call(&self, code: u32) -> HrStatus {
        // SAFETY: `object` was made by this table's `create` and lives until `drop`; the handle outlives it.
        unsafe {
            let on_point =
                may_throw!(self.on_point, fn(*mut c_void, u32, *const TrainerHandle) -> HrStatus);
            on_point(self.object, code, self.handle)
        }
    }

    #[inline]
    fn note(&self, status: HrStatus) -> HrStatus {
        if status == HrStatus::PANIC {
            self.has_panicked.set(true);
        }
        status
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: `object` was made by this table and is not used again.
        self.endpoint.during(Call::Life, || unsafe {
            may_throw!(self.destroy, fn(*mut c_void))(self.object);
        });
        // The handle itself stays: a plugin may log through it for as long as the process lives.
        self.endpoint.close();
    }
}

impl Instance {
    /// Makes an instance of a hook.
    ///
    /// # Errors
    /// The hook rejects its settings or panics; the error has its message.
    pub fn hook(
        hook: &HookType,
        name: &str,
        settings: &Value,
        context: &Rc<Context>,
    ) -> Result<Self, String> {
        let caller = Caller {
            name,
            source: &hook.source.file_name(),
            mutates: RunParts::declared(&hook.manifest.mutates),
            is_metric: false,
        };
        let (endpoint, handle) = handle_for(&caller, context);
        let table = hook.table;
        let object = create(table.create, handle, endpoint, settings)?;
        Ok(Self::of(Inner {
            object,
            on_point: table.on_point,
            save_state: table.save_state,
            load_state: table.load_state,
            destroy: table.destroy,
            endpoint,
            handle,
            has_panicked: Cell::new(false),
        }))
    }

    /// Makes an instance of a metric, which has an object for each phase that it is computed in.
    ///
    /// # Errors
    /// The metric rejects its settings or panics; the error has its message.
    pub fn metric(
        metric: &MetricType,
        name: &str,
        phases: Phases,
        settings: &Value,
        context: &Rc<Context>,
    ) -> Result<Self, String> {
        let source = metric.source.file_name();
        let caller = Caller { name, source: &source, mutates: RunParts::NONE, is_metric: true };
        let (endpoint, handle) = handle_for(&caller, context);
        let mut spec = MetricHook::new(context);
        let object = |phase| MetricObject::new(metric, name, phase, settings, (endpoint, handle));
        for phase in phases.iter() {
            spec.add(object(phase)?);
            if phase == Phase::Train {
                spec.iteration = Some(object(phase)?);
            }
        }
        Ok(Self::of(Inner {
            object: Box::into_raw(Box::new(spec)).cast(),
            on_point: metric_on_point,
            save_state: metric_save_state,
            load_state: metric_load_state,
            destroy: metric_destroy,
            endpoint,
            handle,
            has_panicked: Cell::new(false),
        }))
    }

    pub(super) fn of(live: Inner) -> Self {
        Self(Rc::new(live))
    }

    /// A weak reference to itself, for hooks that run its role.
    pub(super) fn live(&self) -> Weak<Inner> {
        Rc::downgrade(&self.0)
    }

    /// Calls it at a point.
    #[inline]
    pub fn on_point(&mut self, point: Point) -> HrStatus {
        self.0.on_point(point)
    }

    /// Calls the function of its table and nothing else: what a call costs without guard, breadcrumb and timing. Services refuse to answer
    /// during it. For benchmarks.
    #[inline]
    pub fn call_bare(&mut self, point: Point) -> HrStatus {
        let live = &self.0;
        // SAFETY: as in `Inner::call`.
        unsafe { (live.on_point)(live.object, point.code(), live.handle) }
    }

    /// Calls it with the code of a point, which need not exist: for tests of plugins.
    pub fn on_code(&mut self, code: u32) -> HrStatus {
        let live = &self.0;
        // A hook ignores codes that it does not know.
        let status = live.endpoint.during(Call::Life, || live.call(code));
        live.note(status)
    }

    /// Records that other ranks do not have it, so that it must not wait for them.
    pub fn stay_on_some_ranks(&self) {
        self.0.endpoint.stay_on_some_ranks();
    }

    /// What it said about its last failure.
    pub fn take_error(&self) -> String {
        self.0.endpoint.take_error()
    }

    /// Saves its state.
    pub fn save_state(&self, writer: &HrStateWriter) -> Result<(), StateFailure> {
        let live = &self.0;
        if live.has_panicked.get() {
            return Err(StateFailure { panicked: true, why: PANICKED.to_owned() });
        }
        let status = live.endpoint.during(Call::Life, || {
            // SAFETY: as in `on_point`; the writer is valid until the call returns.
            unsafe {
                let save =
                    may_throw!(live.save_state, fn(*mut c_void, *const HrStateWriter) -> HrStatus);
                save(live.object, writer)
            }
        });
        let panicked = live.note(status) == HrStatus::PANIC;
        live.endpoint.check(status).map_err(|why| StateFailure { panicked, why })
    }

    /// Restores its state.
    pub fn load_state(&mut self, reader: &HrStateReader) -> Result<(), String> {
        let live = &self.0;
        let status = live.endpoint.during(Call::Life, || {
            // SAFETY: as in `on_point`; the reader is valid until the call returns.
            unsafe {
                let load =
                    may_throw!(live.load_state, fn(*mut c_void, *const HrStateReader) -> HrStatus);
                load(live.object, reader)
            }
        });
        live.endpoint.check(live.note(status))
    }
}

pub(super) fn create(
    create: Create,
    handle: &'static TrainerHandle,
    endpoint: &'static Endpoint,
    settings: &Value,
) -> Result<*mut c_void, String> {
    let tree = WireTree::new(settings);
    let mut object = std::ptr::null_mut();
    // SAFETY: the handle lives as long as the process, the settings until the call returns; `object` is a place for
    // one pointer.
    let make = || unsafe {
        let create = may_throw!(
            create,
            fn(*const TrainerHandle, *const HrValue, *mut *mut c_void) -> HrStatus
        );
        create(handle, tree.as_ptr(), &raw mut object)
    };
    let status = endpoint.during(Call::Life, make);
    endpoint.check(status)?;
    if object.is_null() {
        return Err("it reported success but returned no instance".to_owned());
    }
    Ok(object)
}

/// # Safety
/// `object` is a `MetricHook` in a box, as `Instance::metric` made it.
unsafe fn spec<'a>(object: *mut c_void) -> &'a mut MetricHook {
    // SAFETY: by the contract; the rack calls one at a time.
    unsafe { &mut *object.cast::<MetricHook>() }
}

unsafe extern "C" fn metric_on_point(
    object: *mut c_void,
    point: u32,
    handle: *const TrainerHandle,
) -> HrStatus {
    // SAFETY: called by `Instance` alone, with its own object and handle.
    Endpoint::guard_calling(|| Ok(unsafe { spec(object).on_point(point, &*handle) }))
}

unsafe extern "C" fn metric_save_state(
    object: *mut c_void,
    writer: *const HrStateWriter,
) -> HrStatus {
    // SAFETY: called by `Instance` alone, with its own object and a live writer.
    Endpoint::guard_calling(|| Ok(unsafe { spec(object).save_state(&*writer) }))
}

unsafe extern "C" fn metric_load_state(
    object: *mut c_void,
    reader: *const HrStateReader,
) -> HrStatus {
    // SAFETY: called by `Instance` alone, with its own object and a live reader.
    Endpoint::guard_calling(|| Ok(unsafe { spec(object).load_state(&*reader) }))
}

unsafe extern "C" fn metric_destroy(object: *mut c_void) {
    // SAFETY: made by `Box::into_raw` in `Instance::metric`; not used again.
    drop(unsafe { Box::from_raw(object.cast::<MetricHook>()) });
}

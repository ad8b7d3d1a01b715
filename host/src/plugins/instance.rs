//! A live hook or metric: made, called, saved and ended through its table, and nowhere else.

use super::metric_object::MetricObject;
use super::metric_seat::MetricSeat;
use super::services::{Desk, handle_for};
use super::{HookType, MetricType};
use crate::config::Phases;
use crate::train::Context;
use hookrack_plugin_api::abi::{
    HrStateReader, HrStateWriter, HrStatus, HrValue, TrainerHandle, WireTree,
};
use hookrack_plugin_api::{Point, Value};
use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

type OnPoint = unsafe extern "C" fn(*mut c_void, u32, *const TrainerHandle) -> HrStatus;
type SaveState = unsafe extern "C" fn(*mut c_void, *const HrStateWriter) -> HrStatus;
type LoadState = unsafe extern "C" fn(*mut c_void, *const HrStateReader) -> HrStatus;
type Create =
    unsafe extern "C" fn(*const TrainerHandle, *const HrValue, *mut *mut c_void) -> HrStatus;

/// Why a hook's state is not in a checkpoint.
#[derive(Debug)]
pub struct StateFailure {
    /// Whether it panicked: then it is not called again.
    pub panicked: bool,
    /// Its own words.
    pub why: String,
}

/// A live hook, or a metric in the place of one.
pub struct Instance {
    pub(super) object: *mut c_void,
    pub(super) on_point: OnPoint,
    pub(super) save_state: SaveState,
    pub(super) load_state: LoadState,
    pub(super) destroy: unsafe extern "C" fn(*mut c_void),
    pub(super) desk: &'static Desk,
    pub(super) handle: &'static TrainerHandle,
}

impl Instance {
    /// Makes an instance of a hook.
    ///
    /// # Errors
    /// The hook's own words, when it does not accept its settings or panics.
    pub fn hook(
        hook: &HookType,
        name: &str,
        settings: &Value,
        context: &Rc<Context>,
    ) -> Result<Self, String> {
        let may_write = !hook.manifest.mutates.is_empty();
        let (desk, handle) = handle_for(name, may_write, context);
        let table = hook.table;
        let object = create(table.create, handle, desk, settings)?;
        Ok(Self {
            object,
            on_point: table.on_point,
            save_state: table.save_state,
            load_state: table.load_state,
            destroy: table.destroy,
            desk,
            handle,
        })
    }

    /// Makes an instance of a metric, which has an object for each phase that it is computed in.
    ///
    /// # Errors
    /// The metric's own words, when it does not accept its settings or panics.
    pub fn metric(
        metric: &MetricType,
        name: &str,
        phases: Phases,
        settings: &Value,
        context: &Rc<Context>,
    ) -> Result<Self, String> {
        let (desk, handle) = handle_for(name, false, context);
        let mut seat = MetricSeat::new(context);
        for phase in phases.iter() {
            seat.add(MetricObject {
                name: name.to_owned(),
                type_name: metric.name().to_owned(),
                unit: metric.manifest.unit.clone(),
                phase,
                better: metric.manifest.better,
                table: metric.table,
                object: create(metric.table.create, handle, desk, settings)?,
                desk,
                is_called: Cell::new(false),
            });
        }
        Ok(Self {
            object: Box::into_raw(Box::new(seat)).cast(),
            on_point: metric_on_point,
            save_state: metric_save_state,
            load_state: metric_load_state,
            destroy: metric_destroy,
            desk,
            handle,
        })
    }

    /// Notes that it is the one being called, for what its library logs.
    #[inline]
    pub fn announce(&self) {
        self.desk.enter();
    }

    /// Calls it at a point.
    #[inline]
    pub fn on_point(&mut self, point: Point) -> HrStatus {
        // SAFETY: `object` was made by this table's `create` and lives until `drop`; the handle outlives it.
        unsafe { (self.on_point)(self.object, point.code(), self.handle) }
    }

    /// What it said about its last failure.
    pub fn take_error(&self) -> String {
        self.desk.take_error()
    }

    /// Has it save its state.
    ///
    /// # Errors
    /// Its own words.
    pub fn save_state(&self, writer: &HrStateWriter) -> Result<(), StateFailure> {
        // SAFETY: as in `on_point`; the writer is valid until the call returns.
        let status = unsafe { (self.save_state)(self.object, writer) };
        let panicked = status == HrStatus::PANIC;
        self.desk.check(status).map_err(|why| StateFailure { panicked, why })
    }

    /// Has it take its state back.
    ///
    /// # Errors
    /// Its own words.
    pub fn load_state(&mut self, reader: &HrStateReader) -> Result<(), String> {
        // SAFETY: as in `on_point`; the reader is valid until the call returns.
        let status = unsafe { (self.load_state)(self.object, reader) };
        self.desk.check(status)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: `object` was made by this table and is not used again.
        unsafe { (self.destroy)(self.object) };
        // The handle itself stays: a plugin may log through it for as long as the process lives.
        self.desk.close();
    }
}

fn create(
    create: Create,
    handle: &'static TrainerHandle,
    desk: &'static Desk,
    settings: &Value,
) -> Result<*mut c_void, String> {
    let tree = WireTree::new(settings);
    let mut object = std::ptr::null_mut();
    desk.enter();
    // SAFETY: the handle lives as long as the process, the settings until the call returns; `object` is a place for
    // one pointer.
    let status = unsafe { create(handle, tree.as_ptr(), &raw mut object) };
    desk.check(status)?;
    if object.is_null() {
        return Err("it reported success but gave no instance".to_owned());
    }
    Ok(object)
}

/// # Safety
/// `object` is a `MetricSeat` in a box, as `Instance::metric` made it.
unsafe fn seat<'a>(object: *mut c_void) -> &'a mut MetricSeat {
    // SAFETY: by the contract; the rack calls one at a time.
    unsafe { &mut *object.cast::<MetricSeat>() }
}

unsafe extern "C" fn metric_on_point(
    object: *mut c_void,
    point: u32,
    handle: *const TrainerHandle,
) -> HrStatus {
    // SAFETY: called by `Instance` alone, with its own object and handle.
    unsafe { seat(object).on_point(point, &*handle) }
}

unsafe extern "C" fn metric_save_state(
    object: *mut c_void,
    writer: *const HrStateWriter,
) -> HrStatus {
    // SAFETY: called by `Instance` alone, with its own object and a live writer.
    unsafe { seat(object).save_state(&*writer) }
}

unsafe extern "C" fn metric_load_state(
    object: *mut c_void,
    reader: *const HrStateReader,
) -> HrStatus {
    // SAFETY: called by `Instance` alone, with its own object and a live reader.
    unsafe { seat(object).load_state(&*reader) }
}

unsafe extern "C" fn metric_destroy(object: *mut c_void) {
    // SAFETY: made by `Box::into_raw` in `Instance::metric`; not used again.
    drop(unsafe { Box::from_raw(object.cast::<MetricSeat>()) });
}

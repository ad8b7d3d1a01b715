//! A live hook or metric, called through its table.

use crate::saved::{Saved, Way};
use crate::{FakeHost, World};
use hookrack_plugin_api::abi::{
    HookBase, HrHeader, HrScalarSink, HrStatus, HrStr, HrValue, METRIC_EPOCH, MetricBase,
    TrainerHandle, WireTree,
};
use hookrack_plugin_api::{Point, Value};
use std::ffi::c_void;

/// A live hook or metric. Ends when it is dropped.
pub struct Live<T: 'static> {
    table: &'static T,
    object: *mut c_void,
    world: &'static World,
    handle: &'static TrainerHandle,
    destroy: unsafe extern "C" fn(*mut c_void),
}

impl<T> Drop for Live<T> {
    fn drop(&mut self) {
        // SAFETY: the object was made by this table and is not used again.
        unsafe { (self.destroy)(self.object) }
    }
}

type Make =
    unsafe extern "C" fn(*const TrainerHandle, *const HrValue, *mut *mut c_void) -> HrStatus;

impl FakeHost {
    fn make(&self, make: Make, settings: &Value) -> Result<*mut c_void, String> {
        let tree = WireTree::new(settings);
        let mut object = std::ptr::null_mut();
        // SAFETY: the handle lives as long as the process, the tree until the call returns.
        let status = unsafe { make(self.handle, tree.as_ptr(), &raw mut object) };
        self.world.check(status).map(|()| object)
    }

    /// Makes a hook with these settings; its own words where it does not accept them.
    pub fn hook(
        &self,
        table: &'static HookBase,
        settings: &Value,
    ) -> Result<Live<HookBase>, String> {
        let object = self.make(table.create, settings)?;
        Ok(Live { table, object, world: self.world, handle: self.handle, destroy: table.destroy })
    }

    /// Makes a metric with these settings; its own words where it does not accept them.
    pub fn metric(
        &self,
        table: &'static MetricBase,
        settings: &Value,
    ) -> Result<Live<MetricBase>, String> {
        let object = self.make(table.create, settings)?;
        Ok(Live { table, object, world: self.world, handle: self.handle, destroy: table.destroy })
    }
}

impl Live<HookBase> {
    /// Calls it at a point; its own words where it fails.
    pub fn at(&self, point: Point) -> Result<(), String> {
        // SAFETY: the object was made by this table and is alive.
        self.world.check(unsafe { (self.table.on_point)(self.object, point.code(), self.handle) })
    }

    /// What it saves.
    pub fn save(&self) -> Result<Saved, String> {
        let mut saved = Saved::default();
        let mut way = Way { saved: &mut saved, world: self.world };
        let writer = way.writer();
        // SAFETY: the object is alive, the writer until the call returns.
        let status = unsafe { (self.table.save_state)(self.object, &raw const writer) };
        self.world.check(status).map(|()| saved)
    }

    /// Gives it what it saved.
    pub fn load(&self, saved: &Saved) -> Result<(), String> {
        let mut saved = saved.clone();
        let mut way = Way { saved: &mut saved, world: self.world };
        let reader = way.reader();
        // SAFETY: the object is alive, the reader until the call returns.
        self.world.check(unsafe { (self.table.load_state)(self.object, &raw const reader) })
    }
}

impl Live<MetricBase> {
    /// Has it take the current batch in.
    pub fn update(&self) -> Result<(), String> {
        // SAFETY: the object was made by this table and is alive.
        self.world.check(unsafe { (self.table.update)(self.object, self.handle) })
    }

    /// Its main value over all batches.
    pub fn value(&self) -> Result<f64, String> {
        let mut value = f64::NAN;
        let sink = HrScalarSink {
            header: HrHeader::of::<HrScalarSink>(0),
            sink: (&raw mut value).cast(),
            put,
        };
        // SAFETY: the object is alive, the sink and its number until the call returns.
        let status = unsafe { (self.table.compute)(self.object, METRIC_EPOCH, &raw const sink) };
        self.world.check(status).map(|()| value)
    }

    /// What it saves.
    pub fn save(&self) -> Result<Saved, String> {
        let mut saved = Saved::default();
        let mut way = Way { saved: &mut saved, world: self.world };
        let writer = way.writer();
        // SAFETY: the object is alive, the writer until the call returns.
        let status = unsafe { (self.table.save_state)(self.object, &raw const writer) };
        self.world.check(status).map(|()| saved)
    }

    /// Has it add what another one saved.
    pub fn merge(&self, saved: &Saved) -> Result<(), String> {
        let mut saved = saved.clone();
        let mut way = Way { saved: &mut saved, world: self.world };
        let reader = way.reader();
        // SAFETY: the object is alive, the reader until the call returns.
        self.world.check(unsafe { (self.table.merge)(self.object, &raw const reader) })
    }
}

unsafe extern "C" fn put(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus {
    if suffix.len == 0 {
        // SAFETY: `value` made the sink, and waits.
        unsafe { sink.cast::<f64>().write(value) };
    }
    HrStatus::OK
}

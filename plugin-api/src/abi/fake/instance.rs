//! Instances of hooks and metrics, called through their tables as the host calls them.

use super::super::{
    HookBase, HookExport, HrHeader, HrScalarSink, HrStateReader, HrStateWriter, HrStatus, HrStr,
    HrTensor, HrValue, METRIC_EPOCH, METRIC_STEP, MetricBase, MetricExport, TrainerHandle,
    WireTree,
};
use super::Caller;
use crate::error::Result;
use crate::hook::{Hook, HookInfo};
use crate::metric::{Metric, MetricInfo};
use crate::point::Point;
use crate::testing::SavedState;
use crate::testing::rules::Rules;
use crate::testing::world::Shared;
use crate::value::Value;
use serde::de::DeserializeOwned;
use std::ffi::c_void;

unsafe extern "C" fn no_manifest() -> HrStr {
    HrStr::EMPTY
}

type Create =
    unsafe extern "C" fn(*const TrainerHandle, *const HrValue, *mut *mut c_void) -> HrStatus;

/// An object behind a table, and the caller that receives its calls.
struct Object {
    it: *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    caller: &'static Caller,
    handle: &'static TrainerHandle,
}

impl Object {
    fn create(
        name: &str,
        minor: u16,
        world: &Shared,
        rules: Rules,
        settings: &Value,
        create: Create,
        destroy: unsafe extern "C" fn(*mut c_void),
    ) -> Result<Self> {
        let (caller, handle) = Caller::open(name, minor, world, rules);
        let (tree, mut it) = (WireTree::new(settings), std::ptr::null_mut());
        // SAFETY: handle and tree are whole and live until the call returns; there is a place for the instance.
        caller.calls(None, || unsafe { create(handle, tree.as_ptr(), &raw mut it) })?;
        Ok(Self { it, destroy, caller, handle })
    }

    fn calls(&self, body: impl FnOnce(*mut c_void) -> HrStatus) -> Result<()> {
        self.caller.calls(None, || body(self.it))
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let _ = self.calls(|it| {
            // SAFETY: made by the table's `create`, and not used again.
            unsafe { (self.destroy)(it) };
            HrStatus::OK
        });
        self.caller.close();
    }
}

/// An instance of a hook.
pub(crate) struct HookInstance {
    table: HookBase,
    object: Object,
}

impl HookInstance {
    pub(crate) fn new<T: Hook + HookInfo + DeserializeOwned>(
        name: &'static str,
        minor: u16,
        world: &Shared,
        settings: &Value,
    ) -> Result<Self> {
        let table = HookExport::<T>::table(name, no_manifest);
        let (create, destroy) = (table.create, table.destroy);
        let rules = Rules::of_hook(T::MUTATES);
        let object = Object::create(name, minor, world, rules, settings, create, destroy)?;
        Ok(Self { table, object })
    }

    /// Whether it is being called at a point.
    pub(crate) fn is_called(&self) -> bool {
        self.object.caller.point.get().is_some()
    }

    pub(crate) fn on_point(&self, point: Point) -> Result<()> {
        let Object { it, caller, handle, .. } = self.object;
        if caller.has_panicked.get() {
            return Ok(());
        }
        // SAFETY: the instance is alive; the handle outlives it.
        caller.calls(Some(point), || unsafe { (self.table.on_point)(it, point.code(), handle) })
    }

    pub(crate) fn save(&self, world: &Shared) -> Result<SavedState> {
        let save = self.table.save_state;
        // SAFETY: the instance is alive, and the writer until the call returns.
        gather(world, |writer| self.object.calls(|it| unsafe { save(it, writer) }))
    }

    pub(crate) fn load(&self, world: &Shared, saved: &SavedState) -> Result<()> {
        let load = self.table.load_state;
        // SAFETY: the instance is alive, and the reader until the call returns.
        give_back(world, saved, |reader| self.object.calls(|it| unsafe { load(it, reader) }))
    }
}

/// An instance of a metric.
pub(crate) struct MetricInstance {
    table: MetricBase,
    object: Object,
}

impl MetricInstance {
    pub(crate) fn new<T: Metric + MetricInfo + DeserializeOwned>(
        name: &'static str,
        minor: u16,
        world: &Shared,
        settings: &Value,
    ) -> Result<Self> {
        let table = MetricExport::<T>::table(name, no_manifest);
        let (create, destroy) = (table.create, table.destroy);
        let object = Object::create(name, minor, world, Rules::METRIC, settings, create, destroy)?;
        Ok(Self { table, object })
    }

    pub(crate) fn update(&self) -> Result<()> {
        // SAFETY: the instance is alive; the handle outlives it.
        self.object.calls(|it| unsafe { (self.table.update)(it, self.object.handle) })
    }

    pub(crate) fn reset(&self) -> Result<()> {
        // SAFETY: the instance is alive.
        self.object.calls(|it| unsafe { (self.table.reset)(it) })
    }

    /// The values of the last batch, or of the pass: suffix and number.
    pub(crate) fn values(&self, of_step: bool) -> Result<Vec<(String, f64)>> {
        unsafe extern "C" fn put(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus {
            // SAFETY: `values` made the sink, and waits; the suffix is lent until this returns.
            let (values, suffix) =
                unsafe { (&mut *sink.cast::<Vec<(String, f64)>>(), suffix.to_lossy()) };
            values.push((suffix.into_owned(), value));
            HrStatus::OK
        }
        let mut values: Vec<(String, f64)> = Vec::new();
        let sink = (&raw mut values).cast();
        let sink = HrScalarSink { header: HrHeader::of::<HrScalarSink>(0), sink, put };
        let scope = if of_step { METRIC_STEP } else { METRIC_EPOCH };
        // SAFETY: the instance is alive; sink and values live until the call returns.
        self.object.calls(|it| unsafe { (self.table.compute)(it, scope, &raw const sink) })?;
        Ok(values)
    }

    pub(crate) fn save(&self, world: &Shared) -> Result<SavedState> {
        let save = self.table.save_state;
        // SAFETY: the instance is alive, and the writer until the call returns.
        gather(world, |writer| self.object.calls(|it| unsafe { save(it, writer) }))
    }

    pub(crate) fn load(&self, world: &Shared, saved: &SavedState) -> Result<()> {
        let load = self.table.load_state;
        // SAFETY: the instance is alive, and the reader until the call returns.
        give_back(world, saved, |reader| self.object.calls(|it| unsafe { load(it, reader) }))
    }

    pub(crate) fn merge(&self, world: &Shared, saved: &SavedState) -> Result<()> {
        let merge = self.table.merge;
        // SAFETY: the instance is alive, and the reader until the call returns.
        give_back(world, saved, |reader| self.object.calls(|it| unsafe { merge(it, reader) }))
    }
}

struct Sink<'a> {
    world: &'a Shared,
    state: SavedState,
}

/// Calls `save` with a writer.
fn gather(
    world: &Shared,
    save: impl FnOnce(*const HrStateWriter) -> Result<()>,
) -> Result<SavedState> {
    unsafe extern "C" fn put_value(
        sink: *mut c_void,
        key: HrStr,
        value: *const HrValue,
    ) -> HrStatus {
        // SAFETY: `gather` made the sink and waits; key and value are lent until this returns.
        let (sink, key, value) = unsafe {
            let value = value.as_ref().and_then(|value| value.to_value());
            (&mut *sink.cast::<Sink<'_>>(), key.to_lossy().into_owned(), value)
        };
        let Some(value) = value else { return HrStatus::ERROR };
        sink.state.values.push((key, value));
        HrStatus::OK
    }
    unsafe extern "C" fn put_tensor(sink: *mut c_void, key: HrStr, tensor: HrTensor) -> HrStatus {
        // SAFETY: as for `put_value`.
        let (sink, key) = unsafe { (&mut *sink.cast::<Sink<'_>>(), key.to_lossy().into_owned()) };
        let Ok(tensor) = sink.world.borrow().tensor(tensor) else { return HrStatus::ERROR };
        sink.state.tensors.push((key, tensor.copy()));
        HrStatus::OK
    }
    let mut sink = Sink { world, state: SavedState::default() };
    let writer = HrStateWriter {
        header: HrHeader::of::<HrStateWriter>(0),
        sink: (&raw mut sink).cast(),
        put_value,
        put_tensor,
    };
    save(&raw const writer)?;
    Ok(sink.state)
}

struct Source<'a> {
    world: &'a Shared,
    saved: &'a SavedState,
    trees: Vec<WireTree<'a>>,
}

/// Calls `load` with what was saved.
fn give_back(
    world: &Shared,
    saved: &SavedState,
    load: impl FnOnce(*const HrStateReader) -> Result<()>,
) -> Result<()> {
    unsafe extern "C" fn value(source: *mut c_void, key: HrStr) -> *const HrValue {
        // SAFETY: `give_back` made the source and waits; the key is lent until this returns.
        let (source, key) = unsafe { (&*source.cast::<Source<'_>>(), key.to_lossy()) };
        let at = source.saved.values.iter().position(|(own, _)| *own == key);
        at.map_or(std::ptr::null(), |at| source.trees[at].as_ptr())
    }
    unsafe extern "C" fn tensor(source: *mut c_void, key: HrStr, out: *mut HrTensor) -> HrStatus {
        // SAFETY: as for `value`.
        let (source, key) = unsafe { (&*source.cast::<Source<'_>>(), key.to_lossy()) };
        let found = source.saved.tensors.iter().find(|(own, _)| *own == key);
        let Some((_, tensor)) = found else { return HrStatus::ABSENT };
        let handle = source.world.borrow_mut().give(tensor.copy());
        // SAFETY: a hook gives a place for one handle.
        unsafe { out.write(handle) };
        HrStatus::OK
    }
    let trees = saved.values.iter().map(|(_, value)| WireTree::new(value)).collect();
    let mut source = Source { world, saved, trees };
    let reader = HrStateReader {
        header: HrHeader::of::<HrStateReader>(0),
        source: (&raw mut source).cast(),
        value,
        tensor,
    };
    load(&raw const reader)
}

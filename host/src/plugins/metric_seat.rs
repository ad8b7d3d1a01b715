//! A metric in the place of a hook: reset when a pass begins, updated after each batch, read at the end.
//!
//! It has an object for each phase, so that a validation in the middle of an epoch leaves what training has gathered alone.

use super::Better;
use super::state_scope::{read_under, write_under};
use crate::train::Context;
use hookrack_plugin_api::abi::{
    HrHeader, HrScalarSink, HrStateReader, HrStateWriter, HrStatus, HrStr, METRIC_EPOCH,
    METRIC_STEP, MetricBase, TrainerHandle,
};
use hookrack_plugin_api::{Phase, Point};
use std::ffi::c_void;
use std::rc::Rc;

/// The points at which a metric is called in a phase: reset, update, compute.
pub fn points_of(phase: Phase) -> [Point; 3] {
    match phase {
        Phase::Train => [Point::BeforeTrainEpoch, Point::AfterTrainIter, Point::AfterTrainEpoch],
        Phase::Val => [Point::BeforeValEpoch, Point::AfterValIter, Point::AfterValEpoch],
        Phase::Test => [Point::BeforeTestEpoch, Point::AfterTestIter, Point::AfterTestEpoch],
        Phase::Pred => [Point::BeforePredEpoch, Point::AfterPredIter, Point::AfterPredEpoch],
    }
}

/// A live metric.
pub(super) struct MetricSeat {
    table: &'static MetricBase,
    // Made by the table; destroyed with the seat.
    objects: Vec<(Phase, *mut c_void)>,
    name: String,
    better: Option<Better>,
    context: Rc<Context>,
}

/// Where the values of one `compute` go.
struct Reading<'a> {
    seat: &'a MetricSeat,
    phase: Phase,
    is_step: bool,
}

impl MetricSeat {
    pub(super) fn new(
        table: &'static MetricBase,
        name: &str,
        better: Option<Better>,
        context: &Rc<Context>,
    ) -> Self {
        let (name, context) = (name.to_owned(), Rc::clone(context));
        Self { table, objects: Vec::new(), name, better, context }
    }

    /// Takes the object of a phase, which this seat's table has made.
    pub(super) fn add(&mut self, phase: Phase, object: *mut c_void) {
        self.objects.push((phase, object));
    }

    /// Does what a metric does at a point.
    pub(super) fn on_point(&mut self, code: u32, handle: &TrainerHandle) -> HrStatus {
        let phase = self.context.phase();
        let Some(&(_, object)) = self.objects.iter().find(|(of, _)| *of == phase) else {
            return HrStatus::OK;
        };
        let [reset, update, compute] = points_of(phase).map(Point::code);
        // SAFETY: `object` was made by this table's `create` and is alive; the handle outlives it.
        unsafe {
            match code {
                code if code == reset => (self.table.reset)(object),
                code if code == update => match (self.table.update)(object, handle) {
                    HrStatus::OK => self.read(phase, object, true),
                    failure => failure,
                },
                code if code == compute => self.read(phase, object, false),
                _ => HrStatus::OK,
            }
        }
    }

    fn read(&self, phase: Phase, object: *mut c_void, is_step: bool) -> HrStatus {
        let reading = Reading { seat: self, phase, is_step };
        let sink = HrScalarSink {
            header: HrHeader::of::<HrScalarSink>(0),
            sink: (&raw const reading).cast_mut().cast(),
            put,
        };
        let scope = if is_step { METRIC_STEP } else { METRIC_EPOCH };
        // SAFETY: `object` is alive; sink and reading live until the call returns.
        unsafe { (self.table.compute)(object, scope, &raw const sink) }
    }

    /// Saves the state of each object, under its phase where there are several.
    pub(super) fn save_state(&self, writer: &HrStateWriter) -> HrStatus {
        // SAFETY: the object is alive, and the writer until the call returns.
        let save = |object, writer| unsafe { (self.table.save_state)(object, writer) };
        match self.objects.as_slice() {
            [(_, only)] => save(*only, writer),
            several => first_failure(several, |(phase, object)| {
                write_under(writer, phase.name(), |writer| save(*object, writer))
            }),
        }
    }

    /// Takes back what [`Self::save_state`] gave.
    pub(super) fn load_state(&mut self, reader: &HrStateReader) -> HrStatus {
        // SAFETY: the object is alive, and the reader until the call returns.
        let load = |object, reader| unsafe { (self.table.load_state)(object, reader) };
        match self.objects.as_slice() {
            [(_, only)] => load(*only, reader),
            several => first_failure(several, |(phase, object)| {
                read_under(reader, phase.name(), |reader| load(*object, reader))
            }),
        }
    }
}

impl Drop for MetricSeat {
    fn drop(&mut self) {
        for (_, object) in &self.objects {
            // SAFETY: made by this table and not used again.
            unsafe { (self.table.destroy)(*object) };
        }
    }
}

/// Goes on for as long as all is well.
fn first_failure<T>(all: &[T], call: impl Fn(&T) -> HrStatus) -> HrStatus {
    all.iter().map(call).find(|status| *status != HrStatus::OK).unwrap_or(HrStatus::OK)
}

unsafe extern "C" fn put(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus {
    // SAFETY: `read` made the sink, and waits; the metric lends the suffix until this returns.
    let (reading, suffix) = unsafe { (&*sink.cast::<Reading<'_>>(), suffix.to_lossy()) };
    let seat = reading.seat;
    let board = &mut seat.context.metrics.borrow_mut();
    let slot =
        board.slot(reading.phase, &seat.name, &suffix, &mut seat.context.events.borrow_mut());
    let progress = seat.context.progress.get();
    let key = if reading.is_step {
        let key = board.put_step(slot, value);
        // Of an evaluation only the whole counts.
        (reading.phase == Phase::Train).then_some(key)
    } else {
        Some(board.put_epoch(slot, value, progress.epoch, seat.better))
    };
    if let Some(key) = key {
        seat.context.put(key, value);
    }
    HrStatus::OK
}

//! A metric in the place of a hook: reset when a pass begins, updated after each batch, read at the end.

use super::Better;
use crate::train::Context;
use hookrack_plugin_api::abi::{
    HrHeader, HrScalarSink, HrStatus, HrStr, METRIC_EPOCH, METRIC_STEP, MetricBase, TrainerHandle,
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
    pub(super) table: &'static MetricBase,
    pub(super) object: *mut c_void,
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
        object: *mut c_void,
        name: &str,
        better: Option<Better>,
        context: &Rc<Context>,
    ) -> Self {
        Self { table, object, name: name.to_owned(), better, context: Rc::clone(context) }
    }

    /// Does what a metric does at a point.
    pub(super) fn on_point(&mut self, code: u32, handle: &TrainerHandle) -> HrStatus {
        let phase = self.context.phase();
        let [reset, update, compute] = points_of(phase).map(Point::code);
        // SAFETY: `object` was made by this table's `create` and is alive; the handle outlives it.
        unsafe {
            match code {
                code if code == reset => (self.table.reset)(self.object),
                code if code == update => match (self.table.update)(self.object, handle) {
                    HrStatus::OK => self.read(phase, true),
                    failure => failure,
                },
                code if code == compute => self.read(phase, false),
                _ => HrStatus::OK,
            }
        }
    }

    fn read(&self, phase: Phase, is_step: bool) -> HrStatus {
        let reading = Reading { seat: self, phase, is_step };
        let sink = HrScalarSink {
            header: HrHeader::of::<HrScalarSink>(0),
            sink: (&raw const reading).cast_mut().cast(),
            put,
        };
        let scope = if is_step { METRIC_STEP } else { METRIC_EPOCH };
        // SAFETY: `object` is alive; sink and reading live until the call returns.
        unsafe { (self.table.compute)(self.object, scope, &raw const sink) }
    }
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

//! Runs a metric as a hook: reset at the start of a pass, updated after each batch, read at the end.
//!
//! It has an object per phase, so that a validation in the middle of an epoch does not disturb the sums of training.

use super::merge::{BatchStates, Outcome, exchange, in_turn};
use super::metric_object::MetricObject;
use super::services::Endpoint;
use super::state_scope::{read_under, write_under};
use crate::context::{Context, LiveMetric};
use crate::world::World;
use hookrack_plugin_api::abi::{
    HrHeader, HrScalarSink, HrStateReader, HrStateWriter, HrStatus, HrStr, METRIC_EPOCH,
    METRIC_SO_FAR, METRIC_STEP, TrainerHandle,
};
use hookrack_plugin_api::{Phase, Point};
use std::cell::RefCell;
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

/// A live metric, with an object for each phase.
pub(super) struct MetricHook {
    objects: Vec<Rc<MetricObject>>,
    // For training on several ranks: what a single iteration gives.
    pub(super) iteration: Option<MetricObject>,
    // For an evaluation on several ranks: what each batch gave.
    batches: RefCell<Outcome<BatchStates>>,
    context: Rc<Context>,
}

/// Where the values of one `compute` go.
struct Computed<'a> {
    context: &'a Context,
    object: &'a MetricObject,
    is_step: bool,
}

impl MetricHook {
    pub(super) fn new(context: &Rc<Context>) -> Self {
        Self {
            objects: Vec::new(),
            iteration: None,
            batches: RefCell::new(Ok(BatchStates::default())),
            context: Rc::clone(context),
        }
    }

    /// Takes the object of a phase; hooks find it in the context from now on.
    pub(super) fn add(&mut self, object: MetricObject) {
        let object = Rc::new(object);
        self.context.metric_objects.borrow_mut().push(Rc::clone(&object) as Rc<dyn LiveMetric>);
        self.objects.push(object);
    }

    /// Does what a metric does at a point.
    pub(super) fn on_point(&mut self, code: u32, handle: &TrainerHandle) -> HrStatus {
        let phase = self.context.phase();
        let Some(object) = self.objects.iter().find(|object| object.description.phase == phase)
        else {
            return HrStatus::OK;
        };
        let [reset, update, compute] = points_of(phase).map(Point::code);
        let world = self.context.world.get();
        match (code, world) {
            (code, _) if code == reset => {
                *self.batches.borrow_mut() = Ok(BatchStates::default());
                object.reset()
            }
            (code, None) if code == update => until_failure(&[&|| object.update(handle), &|| {
                self.read(object, METRIC_STEP, true)
            }]),
            (code, Some(world)) if code == update => match &self.iteration {
                Some(iteration) if phase == Phase::Train => {
                    self.update_together(object, iteration, world, handle)
                }
                _ if self.context.is_elsewhere() => HrStatus::OK,
                _ => self.keep_batch(object, handle),
            },
            (code, world) if code == compute => {
                let merged = match world {
                    Some(world) if phase != Phase::Train => self.merge_batches(object, world),
                    _ => Ok(()),
                };
                until_failure(&[&|| object.status_of(merged.clone()), &|| {
                    self.read(object, METRIC_EPOCH, false)
                }])
            }
            _ => HrStatus::OK,
        }
    }

    /// Updates with an iteration over all ranks: its value, and the sums so far, are those of one process.
    fn update_together(
        &self,
        object: &MetricObject,
        iteration: &MetricObject,
        world: &World,
        handle: &TrainerHandle,
    ) -> HrStatus {
        let own = iteration.state_of_batch(&self.context, handle);
        let merged = exchange(world, own).and_then(|states| {
            iteration.done(iteration.reset())?;
            states.iter().try_for_each(|state| {
                iteration.merge_batch(&self.context, state)?;
                object.merge_batch(&self.context, state)
            })
        });
        // The pass goes on: the metric has nothing to report yet.
        until_failure(&[&|| object.status_of(merged.clone()), &|| {
            self.read(iteration, METRIC_SO_FAR, true)
        }])
    }

    /// Keeps the state after a batch of an evaluation. A failure is kept until the end of the pass, where the other ranks are told.
    fn keep_batch(&self, object: &MetricObject, handle: &TrainerHandle) -> HrStatus {
        let mut batches = self.batches.borrow_mut();
        let Ok(kept) = batches.as_mut() else { return HrStatus::OK };
        let taken = object.state_of_batch(&self.context, handle).and_then(|state| {
            kept.push(&state);
            object.done(self.read(object, METRIC_STEP, true))
        });
        if let Err(failure) = taken {
            *batches = Err(failure);
        }
        HrStatus::OK
    }

    /// Merges the states of all ranks in an evaluation, batch by batch.
    fn merge_batches(&self, object: &MetricObject, world: &World) -> Outcome<()> {
        let own = self.batches.replace(Ok(BatchStates::default()));
        let messages = exchange(world, own.map(BatchStates::into_bytes))?;
        object.done(object.reset())?;
        in_turn(&messages)?
            .into_iter()
            .try_for_each(|state| object.merge_batch(&self.context, state))
    }

    fn read(&self, object: &MetricObject, scope: u32, is_step: bool) -> HrStatus {
        let reading = Computed { context: &self.context, object, is_step };
        let sink = HrScalarSink {
            header: HrHeader::of::<HrScalarSink>(0),
            sink: (&raw const reading).cast_mut().cast(),
            put,
        };
        object.compute(scope, &sink)
    }

    /// Saves the state of each object, under its phase if there are several.
    pub(super) fn save_state(&self, writer: &HrStateWriter) -> HrStatus {
        match self.objects.as_slice() {
            [only] => only.save(writer),
            several => until_failure_of(several, |object| {
                write_under(writer, object.description.phase.name(), |writer| object.save(writer))
            }),
        }
    }

    /// Takes back what [`Self::save_state`] gave.
    pub(super) fn load_state(&mut self, reader: &HrStateReader) -> HrStatus {
        match self.objects.as_slice() {
            [only] => only.load(reader),
            several => until_failure_of(several, |object| {
                read_under(reader, object.description.phase.name(), |reader| object.load(reader))
            }),
        }
    }
}

impl Drop for MetricHook {
    fn drop(&mut self) {
        let is_own = |one: &Rc<dyn LiveMetric>| {
            self.objects.iter().any(|own| std::ptr::addr_eq(Rc::as_ptr(own), Rc::as_ptr(one)))
        };
        // Once it is removed here, only the spec holds the object, which is dropped with it.
        self.context.metric_objects.borrow_mut().retain(|one| !is_own(one));
    }
}

/// Stops at the first error.
fn until_failure(steps: &[&dyn Fn() -> HrStatus]) -> HrStatus {
    until_failure_of(steps, |step| step())
}

fn until_failure_of<T>(all: &[T], call: impl Fn(&T) -> HrStatus) -> HrStatus {
    all.iter().map(call).find(|status| *status != HrStatus::OK).unwrap_or(HrStatus::OK)
}

unsafe extern "C" fn put(sink: *mut c_void, suffix: HrStr, value: f64) -> HrStatus {
    // SAFETY: `read` made the sink, and waits; the metric lends the suffix until this returns.
    let (reading, suffix) = unsafe { (&*sink.cast::<Computed<'_>>(), suffix.to_lossy()) };
    Endpoint::guard_calling(|| {
        reading.put(&suffix, value);
        Ok(HrStatus::OK)
    })
}

impl Computed<'_> {
    fn put(&self, suffix: &str, value: f64) {
        let Self { context, object, is_step } = *self;
        let metrics = &mut context.metrics.borrow_mut();
        let index = {
            let events = &mut context.events.borrow_mut();
            metrics.register(
                object.description.phase,
                &object.description.name,
                suffix,
                object.description.better,
                events,
            )
        };
        let key = if is_step {
            metrics.put_step(index, value)
        } else {
            Some(metrics.put_epoch(index, value, context.progress.get().epoch))
        };
        if let Some(key) = key {
            context.put(key, value);
        }
    }
}

//! What the loop and its hooks share: the engine, the current tensors, scalars, values, requests.
//!
//! The loop owns the rack and calls the hooks; a hook calls back through its handle while the loop waits. Both reach
//! the context by shared reference, and each borrow ends before the next call.

mod arena;
mod current;
mod engine_calls;
mod grad_row;
mod live;
mod load_request;
mod own_pass;
mod phase_clock;
mod requests;
mod run_parts;
mod shares;

pub use arena::{Arena, HandleError, Lease};
pub use current::{Current, Slot};
pub use grad_row::GradRow;
pub use live::{ForwardRole, LiveMetric, MetricDescription};
pub use load_request::LoadRequest;
pub use own_pass::OwnPass;
pub use phase_clock::PhaseClock;
pub use requests::{Requests, Stop};
pub use run_parts::RunParts;
pub use shares::Shares;

use crate::engine::model::Model;
use crate::engine::schedule::MicroPart;
use crate::engine::{Engine, EngineError, Pass};
use crate::events::{EventStorage, Key, MetricValues, Sample};
use crate::progress::{Progress, SharedProgress};
use crate::run::RunDirError;
use crate::torch::shape;
use crate::world::World;
use crate::writers::Writers;
use engine_calls::Gradients;
use hookrack_plugin_api::abi::HrTensor;
use hookrack_plugin_api::{Phase, Value};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use tch::Tensor;

/// What the loop and its hooks share.
pub struct Context {
    /// The position of the run. Handles point at it, so its address is fixed for the whole run.
    pub progress: Rc<SharedProgress>,
    /// Model, loss, optimizer, schedules.
    pub engine: RefCell<Engine>,
    /// Tensors by handle.
    pub arena: RefCell<Arena>,
    /// Batch, output, loss.
    pub current: RefCell<Current>,
    /// Scalars.
    pub events: RefCell<EventStorage>,
    /// The metrics' values by phase and name.
    pub metrics: RefCell<MetricValues>,
    /// The metrics themselves, once for each phase, in the order of the config.
    pub metric_objects: RefCell<Vec<Rc<dyn LiveMetric>>>,
    /// The writers.
    pub writers: RefCell<Writers>,
    /// Values shared between hooks.
    pub states: RefCell<HashMap<String, Value>>,
    /// Tensors that hooks share, and what they belong to.
    pub state_tensors: RefCell<HashMap<String, (Tensor, RunParts)>>,
    /// Models that hooks have had built.
    pub models: RefCell<Vec<Box<dyn Model>>>,
    /// What was requested.
    pub requests: RefCell<Requests>,
    /// How long the run was in each phase.
    pub clock: PhaseClock,
    /// The failure that ended the run.
    pub failure: RefCell<String>,
    /// The run directory; `None` if the run has none.
    pub run_dir: Option<PathBuf>,
    /// Handles of parameters and buffers, made once.
    pub fixed: FixedHandles,
    /// Handles of the gradients, created on demand.
    pub grads: RefCell<GradRow>,
    /// The hook in the training forward role.
    pub forward_role: RefCell<Option<Rc<dyn ForwardRole>>>,
    /// A hook's own pass over data.
    pub own_pass: RefCell<OwnPass>,
    /// The shares of ranks and micro-batches in the iteration.
    pub shares: Shares,
    /// In a pipeline: the part whose pass runs.
    pub part: Cell<Option<MicroPart>>,
    /// Whether the current micro-batch is the last of the iteration.
    pub pass: Cell<Pass>,
    /// The other ranks, in a run of several.
    pub world: OnceCell<Rc<World>>,
    /// Whether a hook has changed the batch since it was fetched.
    pub batch_changed: Cell<bool>,
    /// The state of the iteration's gradients.
    gradients: Cell<Gradients>,
    /// Names of the scalars about loss scaling, looked up once.
    scaling_keys: OnceCell<[Key; 2]>,
}

/// Handles that are valid for the whole run.
#[derive(Default)]
pub struct FixedHandles {
    /// The parameters.
    pub params: Vec<HrTensor>,
    /// The buffers.
    pub buffers: Vec<HrTensor>,
}

impl Context {
    /// A context around an engine.
    pub fn new(engine: Engine, writers: Writers, run_dir: Option<PathBuf>) -> Self {
        let mut arena = Arena::default();
        let mut handles = |tensors: &[crate::engine::NamedTensor]| {
            let tensors = tensors.iter().map(|named| named.tensor.shallow_clone());
            tensors.map(|tensor| arena.insert_part(tensor, Lease::Run, RunParts::PARAMS)).collect()
        };
        let fixed =
            FixedHandles { params: handles(engine.params()), buffers: handles(engine.buffers()) };
        let progress = Progress { lr: engine.lr(), ..Progress::default() };
        Self {
            progress: Rc::new(SharedProgress::new(progress)),
            engine: RefCell::new(engine),
            arena: RefCell::new(arena),
            current: RefCell::default(),
            events: RefCell::default(),
            metrics: RefCell::default(),
            metric_objects: RefCell::default(),
            writers: RefCell::new(writers),
            states: RefCell::default(),
            state_tensors: RefCell::default(),
            models: RefCell::default(),
            requests: RefCell::default(),
            clock: PhaseClock::start(),
            failure: RefCell::default(),
            run_dir,
            fixed,
            grads: RefCell::default(),
            forward_role: RefCell::default(),
            own_pass: RefCell::default(),
            shares: Shares::default(),
            part: Cell::new(None),
            pass: Cell::new(Pass::Last),
            world: OnceCell::new(),
            batch_changed: Cell::new(false),
            gradients: Cell::new(Gradients::Adding),
            scaling_keys: OnceCell::new(),
        }
    }

    /// Updates the position of the run.
    pub fn advance(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress.get();
        let phase = progress.phase;
        change(&mut progress);
        if progress.phase != phase {
            self.clock.leave(phase);
        }
        self.progress.set(progress);
    }

    /// The current phase.
    pub fn phase(&self) -> Phase {
        self.progress.get().phase
    }

    /// The tensor of a handle.
    pub fn tensor(&self, handle: HrTensor) -> Result<Tensor, HandleError> {
        self.arena.borrow().tensor(handle).map(Tensor::shallow_clone)
    }

    /// A handle of a tensor, for a caller who releases it.
    pub fn hand_over(&self, tensor: Tensor) -> HrTensor {
        self.arena.borrow_mut().insert(tensor, Lease::Owned)
    }

    /// Sets the next batch, or the next part of one.
    pub fn set_batch(&self, input: Tensor, label: Option<Tensor>) {
        let mut current = self.current.borrow_mut();
        current.set(Slot::Input, Some(input));
        current.set(Slot::Label, label);
        current.set(Slot::Output, None);
        current.set(Slot::Loss, None);
    }

    /// Changes the input or the label of the batch that was fetched.
    ///
    /// # Errors
    /// There is none, or the new one has another number of rows.
    pub fn change_batch(&self, slot: Slot, tensor: Tensor) -> Result<(), String> {
        let what = slot.name();
        let mut current = self.current.borrow_mut();
        let rows = |tensor: &Tensor| shape::side(tensor, 0);
        let old = current.tensor(slot).ok_or_else(|| format!("no {what} to change"))?;
        let (old, new) = (rows(old), rows(&tensor));
        if old != new {
            return Err(format!(
                "the new {what} has shape {:?}, but the batch has {} rows: the number of rows must not change",
                tensor.size(),
                old.unwrap_or(0)
            ));
        }
        current.set(slot, Some(tensor));
        self.batch_changed.set(true);
        Ok(())
    }

    /// Drops everything that belongs to the iteration, gradients included: nothing leaks into the next one.
    pub fn end_iteration(&self) -> Result<(), EngineError> {
        self.current.borrow_mut().clear();
        self.batch_changed.set(false);
        self.grads.borrow_mut().clear();
        self.gradients.set(Gradients::Adding);
        self.arena.borrow_mut().end_iteration();
        self.engine.borrow().clear_layer_outputs();
        self.engine.borrow_mut().zero_grad()
    }

    /// Makes the writers write what is pending.
    pub fn write_events(&self) -> Result<(), RunDirError> {
        if self.writers.borrow().is_held() {
            return Ok(());
        }
        let mut events = self.events.borrow_mut();
        let written = self.writers.borrow_mut().write(&events, &self.progress.get());
        events.mark_written();
        written
    }

    /// Redraws the progress line of a pass if it is time to.
    pub fn draw_pass(&self) {
        self.writers.borrow_mut().draw_pass(&self.events.borrow(), &self.progress.get());
    }

    /// Makes the writers that record every value record the scalars of this iteration.
    pub fn record_events(&self) -> Result<(), RunDirError> {
        if self.writers.borrow().is_held() {
            return Ok(());
        }
        let mut events = self.events.borrow_mut();
        let recorded = self.writers.borrow_mut().record(&events, &self.progress.get());
        events.mark_scalars_written();
        recorded
    }

    /// Makes the writers write pending images, histograms and texts. Scalars keep their own interval.
    pub fn write_media(&self) -> Result<(), RunDirError> {
        if self.writers.borrow().is_held() {
            return Ok(());
        }
        let mut events = self.events.borrow_mut();
        let written = self.writers.borrow_mut().write_media(events.media());
        events.mark_media_written();
        written
    }

    /// Logs a scalar for the current iteration.
    pub fn put(&self, key: Key, value: f64) {
        let progress = self.progress.get();
        let sample = Sample { iter: progress.iter, samples: progress.samples, value };
        self.events.borrow_mut().put(key, sample);
    }
}

//! What the loop and its hooks share: the engine, the current tensors, scalars, values, requests.
//!
//! The loop owns the rack and calls the hooks; a hook calls back through its handle while the loop waits. Both reach
//! the context by shared reference, and each borrow ends before the next call.

use super::arena::{Arena, Lease};
use super::current::Current;
use super::grad_row::GradRow;
use super::own_pass::OwnPass;
use super::phase_clock::PhaseClock;
use super::requests::Requests;
use crate::engine::{Engine, EngineError, LossScaling, Mode};
use crate::events::{EventStorage, Key, Sample};
use crate::metrics::Board;
use crate::plugins::{ForwardRole, MetricObject};
use crate::run::RunDirError;
use crate::writers::Writers;
use hookrack_plugin_api::abi::{
    HrProgress, HrTensor, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT,
};
use hookrack_plugin_api::{Phase, Value};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use tch::Tensor;

/// What the loop and its hooks share.
pub struct Context {
    /// Where the run is. Handles point at it, so it has one address for the whole run.
    pub progress: Rc<Cell<HrProgress>>,
    /// Model, loss, optimizer, schedules.
    pub engine: RefCell<Engine>,
    /// Tensors by handle.
    pub arena: RefCell<Arena>,
    /// Batch, output, loss.
    pub current: RefCell<Current>,
    /// Scalars.
    pub events: RefCell<EventStorage>,
    /// The metrics' values by phase and name.
    pub metrics: RefCell<Board>,
    /// The metrics themselves, once for each phase, in the order of the config.
    pub metric_objects: RefCell<Vec<Rc<MetricObject>>>,
    /// Who writes the scalars down.
    pub writers: RefCell<Writers>,
    /// Values that hooks share.
    pub states: RefCell<HashMap<String, Value>>,
    /// What was asked for.
    pub requests: RefCell<Requests>,
    /// How long the run was in each phase.
    pub clock: PhaseClock,
    /// The failure that ended the run.
    pub failure: RefCell<String>,
    /// The run directory; `None` where the run leaves none.
    pub run_dir: Option<PathBuf>,
    /// Handles of parameters and buffers, made once.
    pub fixed: FixedHandles,
    /// Handles of the gradients, made when somebody asks.
    pub grads: RefCell<GradRow>,
    /// The hook that holds the training forward role.
    pub forward_role: RefCell<Option<Rc<ForwardRole>>>,
    /// A hook's own pass over data.
    pub own_pass: RefCell<OwnPass>,
    /// The part of the batch that the micro-batch in progress has.
    pub micro_weight: Cell<f64>,
    /// Whether any label of the iteration counts. Where none does, no backward pass adds anything.
    pub counts: Cell<bool>,
    /// Whether a hook has changed the batch since it was fetched.
    pub batch_changed: Cell<bool>,
    /// How far the iteration's gradients are.
    gradients: Cell<Gradients>,
    /// Names of the scalars about loss scaling, looked up once.
    scaling_keys: OnceCell<[Key; 2]>,
}

/// How far the gradients of an iteration are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gradients {
    /// Micro-batches add theirs, in fp16 too large by the loss scale.
    Adding,
    /// They are the whole batch's, of true size, and clipped.
    Finished,
    /// They are the whole batch's, of true size, and still to be clipped: for the first time, or once more after a later
    /// backward pass has added to them.
    Unclipped,
}

/// Handles that stay the same for the whole run.
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
            tensors.iter().map(|t| arena.insert(t.tensor.shallow_clone(), Lease::Run)).collect()
        };
        let fixed =
            FixedHandles { params: handles(engine.params()), buffers: handles(engine.buffers()) };
        let progress = HrProgress {
            struct_size: u32::try_from(size_of::<HrProgress>()).unwrap_or(u32::MAX),
            world: 1,
            micros: 1,
            lr: engine.lr(),
            ..HrProgress::default()
        };
        Self {
            progress: Rc::new(Cell::new(progress)),
            engine: RefCell::new(engine),
            arena: RefCell::new(arena),
            current: RefCell::default(),
            events: RefCell::default(),
            metrics: RefCell::default(),
            metric_objects: RefCell::default(),
            writers: RefCell::new(writers),
            states: RefCell::default(),
            requests: RefCell::default(),
            clock: PhaseClock::start(),
            failure: RefCell::default(),
            run_dir,
            fixed,
            grads: RefCell::default(),
            forward_role: RefCell::default(),
            own_pass: RefCell::default(),
            micro_weight: Cell::new(1.0),
            counts: Cell::new(true),
            batch_changed: Cell::new(false),
            gradients: Cell::new(Gradients::Adding),
            scaling_keys: OnceCell::new(),
        }
    }

    /// Changes where the run is.
    pub fn advance(&self, change: impl FnOnce(&mut HrProgress)) {
        let mut progress = self.progress.get();
        let phase = progress.phase;
        change(&mut progress);
        if progress.phase != phase {
            self.clock.leave(phase);
        }
        self.progress.set(progress);
    }

    /// What the run is doing.
    pub fn phase(&self) -> Phase {
        Phase::from_code(self.progress.get().phase)
    }

    /// Gives the next batch, or the next part of one.
    pub fn set_batch(&self, input: Tensor, label: Option<Tensor>) {
        let mut current = self.current.borrow_mut();
        current.set(SLOT_INPUT, Some(input));
        current.set(SLOT_LABEL, label);
        current.set(SLOT_OUTPUT, None);
        current.set(SLOT_LOSS, None);
    }

    /// Changes the input or the label of the batch that was fetched; `what` names it in a message.
    ///
    /// # Errors
    /// There is none, or the new one has another number of rows.
    pub fn change_batch(&self, slot: u32, tensor: Tensor, what: &str) -> Result<(), String> {
        let mut current = self.current.borrow_mut();
        let rows = |tensor: &Tensor| tensor.size().first().copied();
        let old = current.tensor(slot).ok_or_else(|| format!("there is no {what} to change"))?;
        let (old, new) = (rows(old), rows(&tensor));
        if old != new {
            return Err(format!(
                "the new {what} has shape {:?}, but the batch has {} rows: their number must stay",
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
        self.engine.borrow_mut().zero_grad()
    }

    /// Has the writers write what is pending.
    pub fn write_events(&self) -> Result<(), RunDirError> {
        if self.writers.borrow().is_held() {
            return Ok(());
        }
        let mut events = self.events.borrow_mut();
        let written = self.writers.borrow_mut().write(&events, &self.progress.get());
        events.mark_written();
        written
    }

    /// Has the writers that keep every value take down the scalars of this iteration.
    pub fn record_events(&self) -> Result<(), RunDirError> {
        if self.writers.borrow().is_held() {
            return Ok(());
        }
        let mut events = self.events.borrow_mut();
        let recorded = self.writers.borrow_mut().record(&events, &self.progress.get());
        events.mark_scalars_written();
        recorded
    }

    /// Has the writers write the pictures, histograms and texts that wait. Scalars keep to their rhythm.
    pub fn write_media(&self) -> Result<(), RunDirError> {
        if self.writers.borrow().is_held() {
            return Ok(());
        }
        let mut events = self.events.borrow_mut();
        let written = self.writers.borrow_mut().write_media(events.media());
        events.mark_media_written();
        written
    }

    /// Puts a scalar for the current iteration.
    pub fn put(&self, key: Key, value: f64) {
        let progress = self.progress.get();
        let sample = Sample { iter: progress.iter, samples: progress.samples, value };
        self.events.borrow_mut().put(key, sample);
    }
}

/// What roles ask of the engine, on the current tensors.
impl Context {
    fn mode(&self) -> Mode {
        if self.phase() == Phase::Train { Mode::Train } else { Mode::Eval }
    }

    fn slot(&self, slot: u32, name: &'static str) -> Result<Tensor, EngineError> {
        let current = self.current.borrow();
        current.tensor(slot).map(Tensor::shallow_clone).ok_or(EngineError::NoTensor { name })
    }

    /// Runs the model on the current input.
    pub fn forward(&self) -> Result<(), EngineError> {
        let input = self.slot(SLOT_INPUT, "input")?;
        let output = self.engine.borrow().forward(&input, self.mode())?;
        self.current.borrow_mut().set(SLOT_OUTPUT, Some(output));
        Ok(())
    }

    /// Runs the model on a tensor of the caller's.
    pub fn model(&self, input: &Tensor) -> Result<Tensor, EngineError> {
        self.engine.borrow().forward(input, self.mode())
    }

    /// Computes the configured loss.
    pub fn criterion(&self) -> Result<(), EngineError> {
        let (output, label) = (self.slot(SLOT_OUTPUT, "output")?, self.slot(SLOT_LABEL, "label")?);
        let loss = self.engine.borrow().loss(&output, &label)?;
        self.current.borrow_mut().set(SLOT_LOSS, Some(loss));
        Ok(())
    }

    /// What the mean of the current loss is taken over.
    pub fn loss_weight(&self) -> Result<f64, EngineError> {
        self.engine.borrow().loss_weight(&self.slot(SLOT_LABEL, "label")?)
    }

    /// Differentiates the loss; micro-batches add up to the gradient of the whole batch. Once they have, the slots hold the
    /// whole batch, and a further pass adds a whole batch's gradient.
    pub fn backward(&self) -> Result<(), EngineError> {
        let loss = self.slot(SLOT_LOSS, "loss")?;
        if !self.counts.get() {
            return Ok(());
        }
        // Whatever comes of it, the gradients and their norm are not what they were.
        self.grads.borrow_mut().outdate();
        self.current.borrow_mut().set(SLOT_GRAD_NORM, None);
        if self.gradients.get() == Gradients::Adding {
            return self.engine.borrow().backward(&loss, self.micro_weight.get());
        }
        self.gradients.set(Gradients::Unclipped);
        let scaling = self.engine.borrow_mut().backward_again(&loss)?;
        if let Some(scaling) = scaling.filter(|scaling| scaling.skipped) {
            self.put_loss_scaling(scaling);
        }
        Ok(())
    }

    /// Brings the gradients of all micro-batches to their size. From here on they are the whole batch's.
    pub fn unscale(&self) -> Result<(), EngineError> {
        let scaling = self.engine.borrow_mut().unscale()?;
        if let Some(scaling) = scaling {
            self.put_loss_scaling(scaling);
        }
        self.gradients.set(Gradients::Unclipped);
        Ok(())
    }

    /// Clips the gradients where the config says so, and keeps their norm for whoever asks.
    pub fn clip(&self) -> Result<(), EngineError> {
        let norm = self.engine.borrow_mut().clip()?;
        self.current.borrow_mut().set(SLOT_GRAD_NORM, norm);
        self.gradients.set(Gradients::Finished);
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer steps than 2^53")]
    fn put_loss_scaling(&self, scaling: LossScaling) {
        let [scale, skipped] = *self.scaling_keys.get_or_init(|| {
            let mut events = self.events.borrow_mut();
            ["train/loss_scale", "train/skipped_steps"].map(|name| events.key(name, false))
        });
        self.put(scale, scaling.scale);
        self.put(skipped, scaling.skipped_steps as f64);
    }

    /// The norm of all gradients, computed when somebody asks first.
    pub fn grad_norm(&self) -> Result<(), EngineError> {
        if self.current.borrow().tensor(SLOT_GRAD_NORM).is_none() {
            let norm = self.engine.borrow_mut().grad_norm()?;
            self.current.borrow_mut().set(SLOT_GRAD_NORM, Some(norm));
        }
        Ok(())
    }

    /// Changes the parameters by their gradients, which are within the config's limits, whoever made them.
    pub fn optimizer_step(&self) -> Result<(), EngineError> {
        if self.gradients.get() == Gradients::Unclipped {
            self.clip()?;
        }
        self.engine.borrow_mut().optimizer_step()
    }

    /// Tells a schedule that watches a scalar what has become of it.
    pub fn tell_schedule(&self) {
        let mut engine = self.engine.borrow_mut();
        let Some(name) = engine.lr_schedule().watched() else { return };
        let events = self.events.borrow();
        let Some((value, at)) =
            events.named(name).and_then(|series| Some((series.latest()?, series.step())))
        else {
            tracing::warn!("the learning rate waits for `{name}`, which nothing has put so far");
            return;
        };
        engine.observe(value, at);
        let lr = engine.lr();
        drop(engine);
        self.advance(|progress| progress.lr = lr);
    }

    /// Sets the learning rate by the schedule.
    pub fn lr_step(&self) {
        let mut engine = self.engine.borrow_mut();
        engine.lr_step();
        let lr = engine.lr();
        drop(engine);
        self.advance(|progress| progress.lr = lr);
    }
}

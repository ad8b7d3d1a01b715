//! Calls of hooks and the loop to the engine, on the current tensors.

use super::{Context, Slot};
use crate::config::LOSS_SCALING;
use crate::engine::schedule::MicroPart;
use crate::engine::{Engine, EngineError, LossScaling, Mode, Pass, Stage};
use hookrack_plugin_api::{Phase, Point};
use tch::Tensor;

/// The state of the gradients of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gradients {
    /// Micro-batches are adding to them; in fp16 they are scaled by the loss scale.
    Adding,
    /// They are those of the whole batch, unscaled and clipped.
    Finished,
    /// They are those of the whole batch, unscaled and not yet clipped: for the first time, or again after a later
    /// backward pass has added to them.
    Unclipped,
}

impl Context {
    /// Whether gradients are recorded while a hook has this role: in training, but not for the optimizer's step.
    pub fn records_gradients(&self, role: Point) -> bool {
        self.phase() == Phase::Train && role != Point::OnOptimizerStep
    }

    fn mode(&self) -> Mode {
        if self.phase() == Phase::Train { Mode::Train } else { Mode::Eval }
    }

    fn slot(&self, slot: Slot) -> Result<Tensor, EngineError> {
        if slot == Slot::Loss {
            self.whole_loss()?;
        }
        let current = self.current.borrow();
        current
            .tensor(slot)
            .map(Tensor::shallow_clone)
            .ok_or(EngineError::NoTensor { name: slot.name() })
    }

    /// Runs the model on the current input. A stage of a pipeline runs what it has of the model on what it has received.
    pub fn forward(&self) -> Result<(), EngineError> {
        let input = self.slot(Slot::Input)?;
        let engine = self.engine.borrow();
        let output = match (engine.stage(), self.part.get()) {
            (None, _) => Some(engine.forward(&input, self.mode())?),
            (Some(_), Some(part)) => engine.forward_part(part, &input)?,
            // Between the passes of an iteration the other stages do not wait for this one: it is refused.
            (Some(_), None) if self.phase() == Phase::Train => {
                Some(engine.forward(&input, Mode::Train)?)
            }
            (Some(_), None) => engine.infer_staged(&input)?,
        };
        self.current.borrow_mut().set(Slot::Output, output);
        Ok(())
    }

    /// Whether the output, and the loss of a micro-batch, are on another stage of a pipeline.
    pub fn is_elsewhere(&self) -> bool {
        let engine = self.engine.borrow();
        let is_end = |part| engine.stage().is_none_or(|stage| stage.ends_model(part));
        let is_last = || engine.stage().is_none_or(Stage::is_last);
        !self.part.get().map_or_else(is_last, is_end)
    }

    /// Runs the model on a tensor of the caller's.
    pub fn model(&self, input: &Tensor) -> Result<Tensor, EngineError> {
        self.engine.borrow().forward(input, self.mode())
    }

    /// Computes the configured loss, where the output is.
    pub fn criterion(&self) -> Result<(), EngineError> {
        if self.is_elsewhere() {
            return Ok(());
        }
        let (output, label) = (self.slot(Slot::Output)?, self.slot(Slot::Label)?);
        let loss = self.engine.borrow().loss(&output, &label)?;
        self.current.borrow_mut().set(Slot::Loss, Some(loss));
        Ok(())
    }

    /// The denominator of the mean of the current loss: on this rank while micro-batches run, then on all ranks together. 0 where
    /// the loss is on another stage.
    pub fn loss_weight(&self) -> Result<f64, EngineError> {
        let is_whole = self.phase() == Phase::Train && self.gradients.get() != Gradients::Adding;
        if is_whole && self.world.get().is_some() {
            return self.whole_weight();
        }
        if self.is_elsewhere() {
            return Ok(0.0);
        }
        self.engine.borrow().loss_weight(&self.slot(Slot::Label)?)
    }

    /// Differentiates the loss; micro-batches add up to the gradient of the whole batch. Once they have, the slots hold the
    /// whole batch, and a further pass adds a whole batch's gradient.
    pub fn backward(&self) -> Result<(), EngineError> {
        if let Some(part) = self.part.get() {
            return self.backward_staged(part);
        }
        let loss = self.slot(Slot::Loss)?;
        if self.whole_weight()? == 0.0 {
            return Ok(());
        }
        // Even if it fails, the gradients and their norm may have changed.
        self.grads.borrow_mut().outdate();
        self.current.borrow_mut().set(Slot::GradNorm, None);
        if self.gradients.get() == Gradients::Adding {
            return self.backward_part(&loss);
        }
        self.gradients.set(Gradients::Unclipped);
        let share = self.own_share()?;
        let scaling = self.engine.borrow_mut().backward_again(&loss, share)?;
        if let Some(scaling) = scaling.filter(|scaling| scaling.skipped) {
            self.put_loss_scaling(scaling);
        }
        Ok(())
    }

    /// Differentiates what a stage has computed of a micro-batch. It always runs: the stages before it wait for its gradient.
    fn backward_staged(&self, part: MicroPart) -> Result<(), EngineError> {
        self.grads.borrow_mut().outdate();
        let product = if self.is_elsewhere() {
            None
        } else {
            let share = self.micro_share()?;
            Some(if share > 0.0 {
                self.engine.borrow().product(&self.slot(Slot::Loss)?, share)?
            } else {
                Engine::product_of_nothing(&self.slot(Slot::Output)?)?
            })
        };
        self.engine.borrow().backward_of_part(part, product.as_ref())
    }

    /// Differentiates the loss of a micro-batch. A rank without a label that counts still takes part where others wait for it: in
    /// the sum over ranks, and in batch norms over all rows.
    fn backward_part(&self, loss: &Tensor) -> Result<(), EngineError> {
        let (share, engine, pass) = (self.micro_share()?, self.engine.borrow(), self.pass.get());
        let is_awaited = self.world.get().is_some() && (pass == Pass::Last || engine.syncs_norms());
        if share == 0.0 && is_awaited {
            return engine.backward_nothing(&self.slot(Slot::Output)?, pass);
        }
        engine.backward(loss, share, pass)
    }

    /// Unscales the gradients of all micro-batches. From here on they are those of the whole batch.
    pub fn unscale(&self) -> Result<(), EngineError> {
        let scaling = self.engine.borrow_mut().unscale()?;
        if let Some(scaling) = scaling {
            self.put_loss_scaling(scaling);
        }
        self.gradients.set(Gradients::Unclipped);
        Ok(())
    }

    /// Clips the gradients if configured, and keeps their norm.
    pub fn clip(&self) -> Result<(), EngineError> {
        let mut engine = self.engine.borrow_mut();
        let mut norm = engine.clip()?;
        // All stages compute it together, here: a hook that asks for it may run on one of them.
        if norm.is_none() && engine.stage().is_some() {
            norm = Some(engine.grad_norm()?);
        }
        drop(engine);
        self.current.borrow_mut().set(Slot::GradNorm, norm);
        self.gradients.set(Gradients::Finished);
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer steps than 2^53")]
    fn put_loss_scaling(&self, scaling: LossScaling) {
        let [scale, skipped] = *self.scaling_keys.get_or_init(|| {
            let mut events = self.events.borrow_mut();
            LOSS_SCALING.map(|name| events.key(name, false))
        });
        self.put(scale, scaling.scale);
        self.put(skipped, scaling.skipped_steps as f64);
    }

    /// The norm of all gradients, computed on first use.
    pub fn grad_norm(&self) -> Result<(), EngineError> {
        if self.current.borrow().tensor(Slot::GradNorm).is_none() {
            if self.engine.borrow().stage().is_some() {
                return Err(EngineError::EarlyNorm);
            }
            let norm = self.engine.borrow_mut().grad_norm()?;
            self.current.borrow_mut().set(Slot::GradNorm, Some(norm));
        }
        Ok(())
    }

    /// Steps the optimizer; gradients are clipped as configured, whichever hook computed them.
    pub fn optimizer_step(&self) -> Result<(), EngineError> {
        if self.gradients.get() == Gradients::Unclipped {
            self.clip()?;
        }
        self.engine.borrow_mut().optimizer_step()
    }

    /// Passes the latest value to a schedule that monitors a scalar.
    pub fn pass_metric_to_schedule(&self) {
        let mut engine = self.engine.borrow_mut();
        let Some(name) = engine.lr_schedule().watched() else { return };
        let events = self.events.borrow();
        let Some((value, at)) =
            events.named(name).and_then(|series| Some((series.latest()?, series.step())))
        else {
            tracing::warn!(
                "the learning rate schedule monitors `{name}`, which nothing has logged yet"
            );
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

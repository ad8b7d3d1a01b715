//! Micro-batches: parts of an iteration whose gradients add up to those of the whole.

use super::fit::{Result, Trainer};
use crate::context::Current;
use crate::context::Slot;
use crate::engine::data::Batch;
use crate::engine::schedule::{Action, MicroBatch, MicroPart};
use crate::engine::{Engine, EngineError, Pass};
use std::rc::Rc;
use tch::Tensor;

/// The micro-batches of an iteration: the tensors of those in progress, and the results of the finished ones.
#[derive(Default)]
pub(super) struct PartResults {
    outputs: Vec<Tensor>,
    // The sum of the losses of the parts, each weighted by its share of the batch.
    loss: Option<Tensor>,
    // The part whose tensors are in the slots, until its backward pass is done.
    current: Option<MicroPart>,
    // The tensors of parts between their forward and backward pass, while others are in the slots.
    aside: Vec<Current>,
}

impl Trainer {
    /// Fetches the batches of an iteration, concatenates them, and splits them into micro-batches; `None` at the end of
    /// the epoch. The last iteration of an epoch may have fewer batches.
    pub(super) fn fetch_iteration(&mut self) -> Result<Option<Batch>> {
        self.loaders.train.set_parts(self.context.engine.borrow().accumulation());
        let Some((first, rows)) = self.next_batch()? else { return Ok(None) };
        if self.group == 1 {
            self.plan_micro_batches(&[rows]);
            return Ok(Some(first));
        }
        let (mut batches, mut sizes) = (vec![first], vec![rows]);
        while (batches.len() as u64) < self.group {
            let Some((batch, rows)) = self.next_batch()? else { break };
            batches.push(batch);
            sizes.push(rows);
        }
        let joined = self.locate(Batch::joined(&batches))?;
        self.plan_micro_batches(&sizes);
        Ok(Some(joined))
    }

    /// This rank's share of the next batch, and the number of rows of the whole batch.
    fn next_batch(&mut self) -> Result<Option<(Batch, i64)>> {
        let train = &mut self.loaders.train;
        let rows = i64::try_from(train.rows_of(train.position())).unwrap_or(i64::MAX);
        let batch = train.next_batch();
        Ok(self.locate(batch)?.map(|batch| (batch, rows)))
    }

    /// Divides an iteration of batches with these numbers of rows into micro-batches.
    fn plan_micro_batches(&mut self, sizes: &[i64]) {
        self.rows = sizes.iter().sum();
        self.context.engine.borrow().split(sizes, &mut self.micros);
    }

    /// Takes the batch as hooks have left it, and weighs its micro-batches by their labels. Asks the other ranks if the weight of
    /// a label depends on its value: hooks may have changed the labels of any of them.
    pub(super) fn weigh_batch(&mut self) -> Result<()> {
        if self.context.batch_changed.take() {
            let current = self.context.current.borrow();
            let slot = |slot| current.tensor(slot).map(Tensor::shallow_clone);
            if let (Some(input), Some(label)) = (slot(Slot::Input), slot(Slot::Label)) {
                self.batch = Some(Batch { input, label });
            }
        }
        let Some(batch) = &self.batch else { return Ok(()) };
        let weighed = self.context.engine.borrow().weigh(&batch.label, self.rows, &mut self.micros);
        let (own, whole) = self.locate(weighed)?;
        self.context.shares.set(own, whole);
        Ok(())
    }

    /// The actions of the iteration. A stage of a pipeline prepares for the messages among them.
    pub(super) fn begin_actions(&mut self) -> Result<Rc<[Action]>> {
        let actions = self.actions()?;
        self.clock.begin();
        self.with_engine(|engine| engine.expect_messages(&actions, &self.micros))?;
        Ok(actions)
    }

    /// Notes what a stage of a pipeline does: when, and for the other ranks, should it never end.
    pub(super) fn begin_action(&mut self, action: Action) {
        if let Some(world) = self.context.world.get().filter(|_| self.is_staged()) {
            world.at_action(Some(action));
            self.clock.begin_action();
        }
    }

    /// Notes when an action of a stage has ended.
    pub(super) fn end_action(&mut self, action: Action) {
        if self.is_staged() {
            self.clock.end_action(action);
        }
        if let (Action::Reduce, Some(world)) = (action, self.context.world.get()) {
            world.at_action(None);
        }
    }

    fn is_staged(&self) -> bool {
        self.context.engine.borrow().stage().is_some()
    }

    /// The actions of this process for the micro-batches of the iteration, made once for each number of them.
    fn actions(&mut self) -> Result<Rc<[Action]>> {
        let micros = self.micros.len();
        if let Some((_, actions)) = self.actions.iter().find(|(known, _)| *known == micros) {
            return Ok(Rc::clone(actions));
        }
        let actions: Rc<[Action]> = self.with_engine(|engine| engine.actions(micros))?.into();
        self.actions.push((micros, Rc::clone(&actions)));
        Ok(actions)
    }

    /// Puts a micro-batch into the slots for its forward pass.
    pub(super) fn before_forward(&mut self, part: MicroPart) -> Result<()> {
        if part.micro as usize + 1 == self.micros.len() {
            self.with_engine(Engine::before_last_forward)?;
        }
        self.put_aside();
        self.parts.current = Some(part);
        let micro = self.select(part);
        if self.micros.len() == 1 {
            return Ok(());
        }
        let Some(batch) = &self.batch else { return Ok(()) };
        let batch = self.locate(batch.narrow(micro.start, micro.rows))?;
        self.context.set_batch(batch.input, Some(batch.label));
        Ok(())
    }

    /// Puts a micro-batch into the slots for its backward pass, with what its forward pass computed.
    pub(super) fn before_backward(&mut self, part: MicroPart) {
        self.select(part);
        if self.parts.current == Some(part) {
            return;
        }
        self.put_aside();
        self.parts.current = Some(part);
        let place = self.place(part);
        if let Some(tensors) = self.parts.aside.get_mut(place) {
            std::mem::swap(tensors, &mut self.context.current.borrow_mut());
        }
    }

    /// Makes a micro-batch the current one; the last one's gradients are summed over ranks.
    fn select(&mut self, part: MicroPart) -> MicroBatch {
        let micro = self.micros[part.micro as usize];
        let is_last = part.micro as usize + 1 == self.micros.len();
        self.context.pass.set(if is_last { Pass::Last } else { Pass::Partial });
        self.context.part.set(self.is_staged().then_some(part));
        self.context.shares.set_micro(micro.weight);
        self.context.advance(|p| p.micro = part.micro);
        micro
    }

    /// Makes room in the slots: a micro-batch whose backward pass is still to come is kept.
    fn put_aside(&mut self) {
        let Some(part) = self.parts.current.take() else { return };
        let place = self.place(part);
        if self.parts.aside.len() <= place {
            self.parts.aside.resize_with(place + 1, Current::default);
        }
        let tensors = &mut self.parts.aside[place];
        std::mem::swap(tensors, &mut self.context.current.borrow_mut());
    }

    fn place(&self, part: MicroPart) -> usize {
        part.chunk as usize * self.micros.len() + part.micro as usize
    }

    /// After the backward pass of a micro-batch: keeps its results. After the last one of a chunk, the ranks that have it sum their
    /// gradients while other chunks run.
    pub(super) fn after_backward(&mut self, part: MicroPart) -> Result<()> {
        self.parts.current = None;
        if part.micro as usize + 1 == self.micros.len() {
            self.with_engine(|engine| engine.start_grad_sum(part.chunk))?;
        }
        let is_needed = self.micros.len() > 1 || self.context.world.get().is_some();
        if is_needed { self.keep_results() } else { Ok(()) }
    }

    /// Keeps output and loss of the finished micro-batch.
    fn keep_results(&mut self) -> Result<()> {
        let kept = {
            let current = self.context.current.borrow();
            let detached = |slot| current.tensor(slot).map(Tensor::f_detach).transpose();
            detached(Slot::Output).and_then(|output| Ok((output, detached(Slot::Loss)?)))
        };
        let (output, loss) = self.locate(kept.map_err(EngineError::from))?;
        self.parts.outputs.extend(output);
        let share = self.locate(self.context.micro_share())?;
        if let Some(loss) = loss.filter(|_| share > 0.0) {
            let share = loss.f_mul_scalar(share);
            let sum = match &self.parts.loss {
                Some(sum) => share.and_then(|share| sum.f_add(&share)),
                None => share,
            };
            self.parts.loss = Some(self.locate(sum.map_err(EngineError::from))?);
        }
        Ok(())
    }

    /// After the last micro-batch: sets the slots to this rank's whole batch, with the joined outputs and the loss of all
    /// micro-batches on all ranks.
    pub(super) fn join_micro_batches(&mut self) -> Result<()> {
        self.context.part.set(None);
        self.with_engine(Engine::finish_stage)?;
        let is_split = self.micros.len() > 1;
        if !is_split && self.context.world.get().is_none() {
            return Ok(());
        }
        let joined = self.join_results(is_split);
        self.locate(joined)?;
        self.clear_grads_without_labels()
    }

    /// If all labels are ignored nothing is stepped, as in one process: stages then have gradients of 0.
    fn clear_grads_without_labels(&self) -> Result<()> {
        if !self.is_staged() || self.locate(self.context.whole_weight())? > 0.0 {
            return Ok(());
        }
        let cleared = self.context.engine.borrow_mut().zero_grad();
        self.locate(cleared)
    }

    /// Waits for the losses of the other ranks, for the hooks that follow.
    pub(super) fn gather_losses(&self) -> Result<()> {
        self.locate(self.context.whole_loss())
    }

    /// Divides the gradients by the loss scale, if there is one.
    pub(super) fn unscale(&mut self) -> Result<()> {
        let unscaled = self.context.unscale();
        self.locate(unscaled)
    }

    /// Clips the gradients if configured.
    pub(super) fn clip(&mut self) -> Result<()> {
        let clipped = self.context.clip();
        self.locate(clipped)
    }

    /// Concatenates the outputs, and adds up the weighted losses of the parts to that of the whole batch.
    fn join_results(&mut self, is_split: bool) -> std::result::Result<(), EngineError> {
        let Some(batch) = &self.batch else { return Ok(()) };
        let outputs = std::mem::take(&mut self.parts.outputs);
        let loss = self.parts.loss.take();
        // If all labels are ignored there is no loss, as for one part.
        let nothing = if self.context.whole_weight()? > 0.0 { 0.0 } else { f64::NAN };
        let kind = self.context.engine.borrow().kind();
        let options = (kind, batch.label.device());
        let loss = loss.map_or_else(|| Tensor::f_full([], nothing, options), Ok)?;
        if is_split {
            let output = if outputs.is_empty() { None } else { Some(Tensor::f_cat(&outputs, 0)?) };
            self.context.set_batch(batch.input.shallow_clone(), Some(batch.label.shallow_clone()));
            self.context.current.borrow_mut().set(Slot::Output, output);
        }
        self.context.sum_loss(loss)
    }
}

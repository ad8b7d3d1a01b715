//! Micro-batches: parts of an iteration whose gradients add up to those of the whole.

use super::fit::{Result, Trainer};
use crate::context::{Current, Slot};
use crate::engine::data::Batch;
use crate::engine::schedule::{Action, MicroBatch, MicroPart};
use crate::engine::{Engine, EngineError, Pass};
use std::rc::Rc;
use std::time::Instant;
use tch::Tensor;

/// The iteration in progress.
pub(super) struct Iteration {
    /// How many batches it takes; the last one of an epoch may have fewer.
    pub(super) group: u64,
    /// When its batches were asked for.
    pub(super) began: Instant,
    /// Its rows on all ranks.
    pub(super) rows: i64,
    /// Its batches in one, as hooks have left it.
    pub(super) batch: Option<Batch>,
    /// How the batch is divided.
    pub(super) micros: Vec<MicroBatch>,
    parts: PartResults,
    // What this process does in an iteration of so many micro-batches.
    actions: Vec<(usize, Rc<[Action]>)>,
}

impl Iteration {
    /// None yet; each will take `group` batches.
    pub(super) fn new(group: u64) -> Self {
        Self {
            group: group.max(1),
            began: Instant::now(),
            rows: 0,
            batch: None,
            micros: Vec::new(),
            parts: PartResults::default(),
            actions: Vec::new(),
        }
    }

    /// Drops what it holds, after a failure.
    pub(super) fn discard(&mut self) {
        self.batch = None;
        self.parts = PartResults::default();
    }

    fn is_split(&self) -> bool {
        self.micros.len() > 1
    }

    fn is_last(&self, part: MicroPart) -> bool {
        part.micro as usize + 1 == self.micros.len()
    }

    /// Where the tensors of a part are put aside.
    fn place(&self, part: MicroPart) -> usize {
        part.chunk as usize * self.micros.len() + part.micro as usize
    }
}

/// The micro-batches of an iteration: the tensors of those in progress, and the results of the finished ones.
#[derive(Default)]
struct PartResults {
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
        if self.iteration.group == 1 {
            self.plan_micro_batches(&[rows]);
            return Ok(Some(first));
        }
        let (mut batches, mut sizes) = (vec![first], vec![rows]);
        while (batches.len() as u64) < self.iteration.group {
            let Some((batch, rows)) = self.next_batch()? else { break };
            batches.push(batch);
            sizes.push(rows);
        }
        self.plan_micro_batches(&sizes);
        self.locate(Batch::joined(&batches)).map(Some)
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
        self.iteration.rows = sizes.iter().sum();
        self.context.engine.borrow().split(sizes, &mut self.iteration.micros);
    }

    /// Takes the batch as hooks have left it, and weighs its micro-batches by their labels. Asks the other ranks if the weight of
    /// a label depends on its value: hooks may have changed the labels of any of them.
    pub(super) fn weigh_batch(&mut self) -> Result<()> {
        if self.context.batch_changed.take() {
            let current = self.context.current.borrow();
            let slot = |slot| current.tensor(slot).map(Tensor::shallow_clone);
            if let (Some(input), Some(label)) = (slot(Slot::Input), slot(Slot::Label)) {
                self.iteration.batch = Some(Batch { input, label });
            }
        }
        let Iteration { batch: Some(batch), rows, micros, .. } = &mut self.iteration else {
            return Ok(());
        };
        let weighed = self.context.engine.borrow().weigh(&batch.label, *rows, micros);
        let (own, whole) = self.locate(weighed)?;
        self.context.shares.set(own, whole);
        Ok(())
    }

    /// The actions of the iteration. A stage of a pipeline prepares for the messages among them.
    pub(super) fn begin_actions(&mut self) -> Result<Rc<[Action]>> {
        let actions = self.actions()?;
        self.clock.begin();
        self.with_engine(|engine| engine.expect_messages(&actions, &self.iteration.micros))?;
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
        let micros = self.iteration.micros.len();
        if let Some((_, actions)) =
            self.iteration.actions.iter().find(|(known, _)| *known == micros)
        {
            return Ok(Rc::clone(actions));
        }
        let actions: Rc<[Action]> = self.with_engine(|engine| engine.actions(micros))?.into();
        self.iteration.actions.push((micros, Rc::clone(&actions)));
        Ok(actions)
    }

    /// Puts a micro-batch into the slots for its forward pass.
    pub(super) fn before_forward(&mut self, part: MicroPart) -> Result<()> {
        if self.iteration.is_last(part) {
            self.with_engine(Engine::before_last_forward)?;
        }
        self.put_aside();
        self.iteration.parts.current = Some(part);
        let micro = self.select(part);
        let Some(batch) = self.iteration.batch.as_ref().filter(|_| self.iteration.is_split())
        else {
            return Ok(());
        };
        let batch = self.locate(batch.narrow(micro.start, micro.rows))?;
        self.context.set_batch(batch.input, Some(batch.label));
        Ok(())
    }

    /// Puts a micro-batch into the slots for its backward pass, with what its forward pass computed.
    pub(super) fn before_backward(&mut self, part: MicroPart) {
        self.select(part);
        if self.iteration.parts.current == Some(part) {
            return;
        }
        self.put_aside();
        self.iteration.parts.current = Some(part);
        let place = self.iteration.place(part);
        if let Some(tensors) = self.iteration.parts.aside.get_mut(place) {
            std::mem::swap(tensors, &mut self.context.current.borrow_mut());
        }
    }

    /// Makes a micro-batch the current one; the last one's gradients are summed over ranks.
    fn select(&mut self, part: MicroPart) -> MicroBatch {
        let micro = self.iteration.micros[part.micro as usize];
        let is_last = self.iteration.is_last(part);
        self.context.pass.set(if is_last { Pass::Last } else { Pass::Partial });
        self.context.part.set(self.is_staged().then_some(part));
        self.context.shares.set_micro(micro.weight);
        self.context.advance(|p| p.micro = part.micro);
        micro
    }

    /// Makes room in the slots: a micro-batch whose backward pass is still to come is kept.
    fn put_aside(&mut self) {
        let Some(part) = self.iteration.parts.current.take() else { return };
        let place = self.iteration.place(part);
        let aside = &mut self.iteration.parts.aside;
        if aside.len() <= place {
            aside.resize_with(place + 1, Current::default);
        }
        std::mem::swap(&mut aside[place], &mut self.context.current.borrow_mut());
    }

    /// After the backward pass of a micro-batch: keeps its results. After the last one of a chunk, the ranks that have it sum their
    /// gradients while other chunks run.
    pub(super) fn after_backward(&mut self, part: MicroPart) -> Result<()> {
        self.iteration.parts.current = None;
        if self.iteration.is_last(part) {
            self.with_engine(|engine| engine.start_grad_sum(part.chunk))?;
        }
        let is_needed = self.iteration.is_split() || self.context.world.get().is_some();
        if is_needed { self.keep_results() } else { Ok(()) }
    }

    /// Keeps output and loss of the finished micro-batch.
    fn keep_results(&mut self) -> Result<()> {
        let kept = {
            let current = self.context.current.borrow();
            let detached = |slot| current.tensor(slot).map(Tensor::f_detach).transpose();
            detached(Slot::Output).and_then(|output| Ok((output, detached(Slot::Loss)?)))
        };
        let (output, loss) = self.locate(kept)?;
        self.iteration.parts.outputs.extend(output);
        let share = self.locate(self.context.micro_share())?;
        if let Some(loss) = loss.filter(|_| share > 0.0) {
            let share = loss.f_mul_scalar(share);
            let sum = match &self.iteration.parts.loss {
                Some(sum) => share.and_then(|share| sum.f_add(&share)),
                None => share,
            };
            self.iteration.parts.loss = Some(self.locate(sum)?);
        }
        Ok(())
    }

    /// After the last micro-batch: sets the slots to this rank's whole batch, with the joined outputs and the loss of all
    /// micro-batches on all ranks.
    pub(super) fn join_micro_batches(&mut self) -> Result<()> {
        self.context.part.set(None);
        self.with_engine(Engine::finish_stage)?;
        if !self.iteration.is_split() && self.context.world.get().is_none() {
            return Ok(());
        }
        let joined = self.join_results();
        self.locate(joined)?;
        self.clear_grads_without_labels()
    }

    /// If all labels are ignored nothing is stepped, as in one process: stages then have gradients of 0.
    fn clear_grads_without_labels(&self) -> Result<()> {
        if !self.is_staged() || self.locate(self.context.whole_weight())? > 0.0 {
            return Ok(());
        }
        self.locate(self.context.engine.borrow_mut().zero_grad())
    }

    /// Waits for the losses of the other ranks, for the hooks that follow.
    pub(super) fn gather_losses(&self) -> Result<()> {
        self.locate(self.context.whole_loss())
    }

    /// Divides the gradients by the loss scale, if there is one.
    pub(super) fn unscale(&mut self) -> Result<()> {
        self.locate(self.context.unscale())
    }

    /// Clips the gradients if configured.
    pub(super) fn clip(&mut self) -> Result<()> {
        self.locate(self.context.clip())
    }

    /// Concatenates the outputs, and adds up the weighted losses of the parts to that of the whole batch.
    fn join_results(&mut self) -> std::result::Result<(), EngineError> {
        let is_split = self.iteration.is_split();
        let Iteration { batch: Some(batch), parts, .. } = &mut self.iteration else {
            return Ok(());
        };
        let (outputs, loss) = (std::mem::take(&mut parts.outputs), parts.loss.take());
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

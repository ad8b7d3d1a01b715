//! Micro-batches: parts of an iteration whose gradients add up to those of the whole.

use super::fit::{Result, Trainer};
use crate::engine::data::Batch;
use crate::engine::{EngineError, Pass};
use hookrack_plugin_api::abi::{SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use tch::Tensor;

/// Outputs and loss of the finished micro-batches, if an iteration has several.
#[derive(Default)]
pub(super) struct PartResults {
    outputs: Vec<Tensor>,
    // The sum of the losses of the parts, each weighted by its share of the batch.
    loss: Option<Tensor>,
}

impl Trainer {
    /// Fetches the batches of an iteration, concatenates them, and splits them into micro-batches; `None` at the end of
    /// the epoch. The last iteration of an epoch may have fewer batches. All labels are needed before the first backward
    /// pass: they define the weight of each part.
    pub(super) fn draw(&mut self) -> Result<Option<Batch>> {
        self.loaders.train.set_parts(self.context.engine.borrow().accumulation());
        let Some((first, rows)) = self.next_batch()? else { return Ok(None) };
        if self.group == 1 {
            return self.cut(first, &[rows]).map(Some);
        }
        let (mut batches, mut sizes) = (vec![first], vec![rows]);
        while (batches.len() as u64) < self.group {
            let Some((batch, rows)) = self.next_batch()? else { break };
            batches.push(batch);
            sizes.push(rows);
        }
        let joined = self.locate(Batch::joined(&batches))?;
        self.cut(joined, &sizes).map(Some)
    }

    /// This rank's share of the next batch, and the number of rows of the whole batch.
    fn next_batch(&mut self) -> Result<Option<(Batch, i64)>> {
        let train = &mut self.loaders.train;
        let rows = i64::try_from(train.rows_of(train.position())).unwrap_or(i64::MAX);
        let batch = train.next_batch();
        Ok(self.locate(batch)?.map(|batch| (batch, rows)))
    }

    fn cut(&mut self, batch: Batch, sizes: &[i64]) -> Result<Batch> {
        self.rows = sizes.iter().sum();
        let split = self.context.engine.borrow().split(&batch, sizes, &mut self.micros);
        self.weighed(split)?;
        Ok(batch)
    }

    /// Records the weight of the iteration and of this rank's part of it.
    fn weighed(&self, whole: std::result::Result<f64, EngineError>) -> Result<()> {
        let whole = self.locate(whole)?;
        let context = &self.context;
        context.whole_weight.set(whole);
        context.counts.set(whole > 0.0);
        let own = || self.micros.iter().map(|part| part.weight).sum();
        context.own_weight.set(if context.world.get().is_some() { own() } else { 1.0 });
        Ok(())
    }

    /// Applies the hooks' changes to the batch since it was fetched: new labels may change its weight.
    pub(super) fn take_changed_batch(&mut self) -> Result<()> {
        if !self.context.batch_changed.take() {
            return Ok(());
        }
        let (input, label) = {
            let current = self.context.current.borrow();
            let slot = |slot| current.tensor(slot).map(Tensor::shallow_clone);
            (slot(SLOT_INPUT), slot(SLOT_LABEL))
        };
        let (Some(input), Some(label)) = (input, label) else { return Ok(()) };
        let weighed = self.context.engine.borrow().weigh(&label, self.rows, &mut self.micros);
        self.weighed(weighed)?;
        self.batch = Some(Batch { input, label });
        Ok(())
    }

    /// Sets the slots to a micro-batch.
    pub(super) fn select(&mut self, micro: usize) -> Result<()> {
        let part = self.micros[micro];
        let is_last = micro + 1 == self.micros.len();
        self.context.pass.set(if is_last { Pass::Last } else { Pass::Partial });
        if is_last {
            let prepared = self.context.engine.borrow().before_last_forward();
            self.locate(prepared)?;
        }
        if self.micros.len() == 1 {
            self.context.micro_weight.set(part.weight);
            return Ok(());
        }
        if micro > 0 {
            self.keep_results()?;
        }
        self.context.micro_weight.set(part.weight);
        let Some(batch) = &self.batch else { return Ok(()) };
        let batch = self.locate(batch.narrow(part.start, part.rows))?;
        self.context.set_batch(batch.input, Some(batch.label));
        self.context.advance(|p| p.micro = u32::try_from(micro).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Keeps output and loss of the finished micro-batch.
    fn keep_results(&mut self) -> Result<()> {
        let kept = {
            let current = self.context.current.borrow();
            let detached = |slot| current.tensor(slot).map(Tensor::f_detach).transpose();
            detached(SLOT_OUTPUT).and_then(|output| Ok((output, detached(SLOT_LOSS)?)))
        };
        let (output, loss) = self.locate(kept.map_err(EngineError::from))?;
        self.parts.outputs.extend(output);
        let weight = self.context.micro_weight.get();
        if let Some(loss) = loss.filter(|_| weight > 0.0) {
            let share = loss.f_mul_scalar(weight);
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
        let is_split = self.micros.len() > 1;
        if !is_split && self.context.world.get().is_none() {
            return Ok(());
        }
        self.keep_results()?;
        let joined = self.join_results(is_split);
        self.locate(joined)
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
        let PartResults { outputs, loss } = std::mem::take(&mut self.parts);
        // If all labels are ignored there is no loss, as for one part.
        let nothing = if self.context.counts.get() { 0.0 } else { f64::NAN };
        let options = (tch::Kind::Float, batch.label.device());
        let loss = loss.map_or_else(|| Tensor::f_full([], nothing, options), Ok)?;
        if let Some(world) = self.context.world.get() {
            world.sum(&loss)?;
        }
        if is_split {
            let output = if outputs.is_empty() { None } else { Some(Tensor::f_cat(&outputs, 0)?) };
            self.context.set_batch(batch.input.shallow_clone(), Some(batch.label.shallow_clone()));
            self.context.current.borrow_mut().set(SLOT_OUTPUT, output);
        }
        self.context.current.borrow_mut().set(SLOT_LOSS, Some(loss));
        Ok(())
    }
}

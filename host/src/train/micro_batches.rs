//! Micro-batches: an iteration in parts, whose gradients add up to those of the whole.

use super::fit::{Result, Trainer};
use crate::engine::EngineError;
use crate::engine::data::Batch;
use hookrack_plugin_api::abi::{SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use tch::Tensor;

/// Outputs and loss of the micro-batches that are done, where an iteration has several.
#[derive(Default)]
pub(super) struct PartResults {
    outputs: Vec<Tensor>,
    // The sum of the parts' losses, each times its share of the batch.
    loss: Option<Tensor>,
}

impl Trainer {
    /// Fetches the batches of an iteration, concatenates them, and splits them into micro-batches; `None` at the end of
    /// the epoch. The last iteration of an epoch may have fewer batches. All labels are needed before the first backward
    /// pass: they define the weight of each part.
    pub(super) fn draw(&mut self) -> Result<Option<Batch>> {
        let Some(first) = self.next_batch()? else { return Ok(None) };
        if self.group == 1 {
            let rows = first.rows();
            return self.cut(first, &[rows]).map(Some);
        }
        let mut batches = vec![first];
        while (batches.len() as u64) < self.group {
            let Some(batch) = self.next_batch()? else { break };
            batches.push(batch);
        }
        let sizes: Vec<i64> = batches.iter().map(Batch::rows).collect();
        let joined = self.locate(Batch::joined(&batches))?;
        self.cut(joined, &sizes).map(Some)
    }

    fn next_batch(&mut self) -> Result<Option<Batch>> {
        let batch = self.loaders.train.next_batch();
        self.locate(batch)
    }

    fn cut(&mut self, batch: Batch, sizes: &[i64]) -> Result<Batch> {
        let split = self.context.engine.borrow().split(&batch, sizes, &mut self.micros);
        self.locate(split)?;
        self.context.counts.set(self.micros.iter().any(|part| part.weight > 0.0));
        Ok(batch)
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
        let weighed = self.context.engine.borrow().weigh(&label, &mut self.micros);
        self.locate(weighed)?;
        self.context.counts.set(self.micros.iter().any(|part| part.weight > 0.0));
        self.batch = Some(Batch { input, label });
        Ok(())
    }

    /// Puts a micro-batch into the slots.
    pub(super) fn select(&mut self, micro: usize) -> Result<()> {
        let part = self.micros[micro];
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

    /// After the last of several micro-batches: puts the whole batch back into the slots, with the joined outputs and the
    /// loss of all.
    pub(super) fn join_micro_batches(&mut self) -> Result<()> {
        if self.micros.len() == 1 {
            return Ok(());
        }
        self.keep_results()?;
        let joined = self.join_results();
        self.locate(joined)
    }

    /// Divides the gradients by the loss scale, where there is one.
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
    fn join_results(&mut self) -> std::result::Result<(), EngineError> {
        let Some(batch) = &self.batch else { return Ok(()) };
        let PartResults { outputs, loss } = std::mem::take(&mut self.parts);
        let output = if outputs.is_empty() { None } else { Some(Tensor::f_cat(&outputs, 0)?) };
        self.context.set_batch(batch.input.shallow_clone(), Some(batch.label.shallow_clone()));
        let mut current = self.context.current.borrow_mut();
        current.set(SLOT_OUTPUT, output);
        // Where no label counts there is no loss, as for one part.
        let options = (tch::Kind::Float, batch.label.device());
        let loss = loss.map_or_else(|| Tensor::f_full([], f64::NAN, options), Ok)?;
        current.set(SLOT_LOSS, Some(loss));
        Ok(())
    }
}

//! Micro-batches: a batch in parts, whose gradients add up to those of the whole.

use super::fit::{Result, Trainer};
use crate::engine::EngineError;
use hookrack_plugin_api::abi::{SLOT_LOSS, SLOT_OUTPUT};
use tch::Tensor;

impl Trainer {
    /// Puts a micro-batch into the slots.
    pub(super) fn select(&mut self, micro: usize) -> Result<()> {
        let part = self.micros[micro];
        self.context.micro_weight.set(part.weight);
        if self.micros.len() == 1 {
            return Ok(());
        }
        if micro > 0 {
            self.keep_output()?;
        }
        let Some(batch) = &self.batch else { return Ok(()) };
        let batch = self.step(batch.narrow(part.start, part.rows))?;
        self.context.set_batch(batch.input, Some(batch.label));
        self.context.advance(|p| p.micro = u32::try_from(micro).unwrap_or(u32::MAX));
        Ok(())
    }

    fn keep_output(&mut self) -> Result<()> {
        let kept = {
            let current = self.context.current.borrow();
            current.tensor(SLOT_OUTPUT).map(Tensor::f_detach).transpose().map_err(EngineError::from)
        };
        self.outputs.extend(self.step(kept)?);
        Ok(())
    }

    /// After the last micro-batch: the slots hold the whole batch again, the gradients are clipped.
    pub(super) fn gather(&mut self) -> Result<()> {
        if self.micros.len() > 1 {
            self.keep_output()?;
            let whole = self.whole_batch();
            self.step(whole)?;
        }
        let clipped = self.context.finish_gradients();
        self.step(clipped)
    }

    fn whole_batch(&mut self) -> std::result::Result<(), EngineError> {
        let Some(batch) = &self.batch else { return Ok(()) };
        let output = Tensor::f_cat(&self.outputs, 0)?;
        self.outputs.clear();
        let loss = self.context.engine.borrow().loss(&output, &batch.label)?;
        self.context.set_batch(batch.input.shallow_clone(), Some(batch.label.shallow_clone()));
        let mut current = self.context.current.borrow_mut();
        current.set(SLOT_OUTPUT, Some(output));
        current.set(SLOT_LOSS, Some(loss));
        Ok(())
    }
}

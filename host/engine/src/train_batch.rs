//! One iteration without hooks: a batch in micro-batches, their gradients added up, one step of the optimizer.

use tch::{Device, Tensor};

use super::data::{Batch, Rank};
use super::data_parallel::{Pass, WholeWeight, share};
use super::engine::{Engine, rows_of};
use super::error::Result;
use super::model::Mode;
use super::schedule::MicroBatch;

impl Engine {
    /// Splits this rank's rows of an iteration into micro-batches. `sizes` are the rows of the batches over all ranks: each batch is
    /// split separately. Refills `out`, whose weights [`weigh`](Self::weigh) sets.
    pub fn split(&self, sizes: &[i64], out: &mut Vec<MicroBatch>) {
        out.clear();
        let mut start = 0;
        for rows in sizes {
            start = self.schedule().split(start, *rows, self.rank(), out);
        }
    }

    /// Sets the weights of micro-batches by their labels: divided by the weight of the iteration, which has `rows` rows over all ranks,
    /// they are the shares by which gradients add up to those of the whole. Returns the weight of this rank's labels, and that of all
    /// ranks, which [`weighed`](Self::weighed) waits for.
    pub fn weigh(
        &self,
        labels: &Tensor,
        rows: i64,
        parts: &mut [MicroBatch],
    ) -> Result<(f64, WholeWeight)> {
        // A single part counts, unless none of its labels does; finding out would synchronize with the device.
        if parts.len() < 2 && labels.device() != Device::Cpu && self.rank() == Rank::ONLY {
            return Ok((rows_of(rows), WholeWeight::Done(rows_of(rows))));
        }
        let own = self.loss_weight(labels)?;
        match parts {
            [part] => part.weight = own,
            parts => {
                for part in parts {
                    part.weight = self.loss_weight(&labels.f_narrow(0, part.start, part.rows)?)?;
                }
            }
        }
        Ok((own, self.weigh_all(own, rows)?))
    }

    /// Trains on one batch and returns its loss, as a 0-dim tensor, without synchronizing with the device. For loops of the
    /// caller's own: the trainer runs the same steps with hooks in between. A schedule that steps by epoch is
    /// advanced by the caller, with [`lr_step`](Self::lr_step).
    pub fn train_batch(&mut self, batch: &Batch) -> Result<Tensor> {
        let mut parts = Vec::new();
        self.split(&[batch.rows()], &mut parts);
        let (_, pending) = self.weigh(&batch.label, batch.rows(), &mut parts)?;
        let whole = self.weighed(pending)?;
        for part in &mut parts {
            part.weight = share(part.weight, whole);
        }
        self.zero_grad()?;
        let loss = match parts.as_slice() {
            [part] => self.train_part(batch, part.weight)?,
            parts => self.train_parts(batch, parts)?,
        };
        self.unscale()?;
        self.clip()?;
        self.optimizer_step()?;
        if !self.lr_by_epoch() {
            self.lr_step();
        }
        Ok(loss)
    }

    fn train_parts(&self, batch: &Batch, parts: &[MicroBatch]) -> Result<Tensor> {
        let mut sum = Tensor::f_zeros([], (self.kind(), batch.input.device()))?;
        // A part in which no label counts has no loss.
        for part in parts.iter().filter(|part| part.weight > 0.0) {
            let loss = self.train_part(&batch.narrow(part.start, part.rows)?, part.weight)?;
            sum = sum.f_add(&loss.f_mul_scalar(part.weight)?)?;
        }
        Ok(sum)
    }

    fn train_part(&self, batch: &Batch, weight: f64) -> Result<Tensor> {
        let output = self.forward(&batch.input, Mode::Train)?;
        let loss = self.loss(&output, &batch.label)?;
        self.backward(&loss, weight, Pass::Partial)?;
        Ok(loss.f_detach()?)
    }
}

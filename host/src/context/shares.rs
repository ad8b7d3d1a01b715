//! The shares of ranks and micro-batches in the loss of an iteration.
//!
//! The numbers of other ranks are waited for when they are needed, not when they are requested: the total weight of the labels while the
//! forward pass runs, the sum of the losses while the optimizer steps.

use super::{Context, Slot};
use crate::engine::{EngineError, WholeWeight, share};
use crate::torch::dist::PendingNumbers;
use std::cell::{Cell, RefCell};
use tch::Tensor;

/// What the labels of an iteration weigh in its loss, and the losses of the other ranks.
pub struct Shares {
    micro: Cell<f64>,
    own: Cell<f64>,
    whole: RefCell<WholeWeight>,
    // The losses of the other ranks, and the tensor that becomes their sum, whatever is in the slot by then.
    losses: RefCell<Option<(PendingNumbers<f64, 1>, Tensor)>>,
}

impl Default for Shares {
    /// One micro-batch on one rank, and all labels count.
    fn default() -> Self {
        Self {
            micro: Cell::new(1.0),
            own: Cell::new(1.0),
            whole: RefCell::new(WholeWeight::Done(1.0)),
            losses: RefCell::default(),
        }
    }
}

impl Shares {
    /// Sets the weight of this rank's labels, and that of all ranks, which may still be in transit.
    pub fn set(&self, own: f64, whole: WholeWeight) {
        self.own.set(own);
        self.whole.replace(whole);
    }

    /// Sets the weight of the current micro-batch.
    pub fn set_micro(&self, weight: f64) {
        self.micro.set(weight);
    }

    /// Expects nothing from the other ranks any more.
    pub fn cancel_pending(&self) {
        self.whole.replace(WholeWeight::Done(0.0));
        self.losses.replace(None);
    }
}

impl Context {
    /// The denominator of the iteration's mean loss, over all ranks. If it is 0, no label counts, and backward passes add nothing.
    pub fn whole_weight(&self) -> Result<f64, EngineError> {
        let mut whole = self.shares.whole.borrow_mut();
        let weight = match std::mem::replace(&mut *whole, WholeWeight::Done(0.0)) {
            WholeWeight::Done(weight) => weight,
            pending @ WholeWeight::Started(_) => self.engine.borrow().weighed(pending)?,
        };
        *whole = WholeWeight::Done(weight);
        Ok(weight)
    }

    /// The current micro-batch's share of the iteration.
    pub fn micro_share(&self) -> Result<f64, EngineError> {
        Ok(share(self.shares.micro.get(), self.whole_weight()?))
    }

    /// This rank's share of the iteration.
    pub fn own_share(&self) -> Result<f64, EngineError> {
        Ok(share(self.shares.own.get(), self.whole_weight()?))
    }

    /// Sets the current loss to this rank's share of the iteration's loss, and starts to add the shares of the other ranks.
    pub fn sum_loss(&self, own: Tensor) -> Result<(), EngineError> {
        if let Some(world) = self.world.get() {
            let losses = world.sum_start(own.f_double_value(&[])?)?;
            self.shares.losses.replace(Some((losses, own.shallow_clone())));
        }
        self.current.borrow_mut().set(Slot::Loss, Some(own));
        Ok(())
    }

    /// Waits for the losses of the other ranks, if they were requested.
    pub fn whole_loss(&self) -> Result<(), EngineError> {
        let Some((losses, mut loss)) = self.shares.losses.take() else { return Ok(()) };
        let Some(world) = self.world.get() else { return Ok(()) };
        _ = loss.f_fill_(world.summed(losses)?)?;
        Ok(())
    }
}

//! The tensors of the iteration in progress: batch, output, loss. Nothing of them leaks into the next one.

use super::arena::{Arena, Lease};
use super::run_parts::RunParts;
use hookrack_plugin_api::abi::{
    HrTensor, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT,
};
use tch::Tensor;

/// The number of slots.
const SLOTS: usize = 5;

/// One of the tensors of the iteration in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The input of the batch.
    Input,
    /// Its label.
    Label,
    /// The output of the model.
    Output,
    /// The loss.
    Loss,
    /// The total norm of the gradients.
    GradNorm,
}

impl Slot {
    /// The batch, and what the forward pass computes of it.
    pub const OF_BATCH: [Self; 4] = [Self::Input, Self::Label, Self::Output, Self::Loss];

    /// The slot with a number of the ABI.
    pub fn from_code(code: u32) -> Option<Self> {
        match code {
            SLOT_INPUT => Some(Self::Input),
            SLOT_LABEL => Some(Self::Label),
            SLOT_OUTPUT => Some(Self::Output),
            SLOT_LOSS => Some(Self::Loss),
            SLOT_GRAD_NORM => Some(Self::GradNorm),
            _ => None,
        }
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Label => "label",
            Self::Output => "output",
            Self::Loss => "loss",
            Self::GradNorm => "gradient norm",
        }
    }

    /// The part of the run that its tensor belongs to.
    pub fn part(self) -> RunParts {
        match self {
            Self::Input => RunParts::INPUT,
            Self::Label => RunParts::LABEL,
            Self::Output => RunParts::OUTPUT,
            Self::Loss => RunParts::LOSS,
            Self::GradNorm => RunParts::GRADS,
        }
    }
}

/// The tensors of the iteration in progress, by slot.
#[derive(Default)]
pub struct Current {
    tensors: [Option<Tensor>; SLOTS],
    // Handles are created on demand.
    handles: [Option<HrTensor>; SLOTS],
}

impl Current {
    /// Puts a tensor into a slot.
    pub fn set(&mut self, slot: Slot, tensor: Option<Tensor>) {
        self.tensors[slot as usize] = tensor;
        self.handles[slot as usize] = None;
    }

    /// The tensor of a slot.
    pub fn tensor(&self, slot: Slot) -> Option<&Tensor> {
        self.tensors[slot as usize].as_ref()
    }

    /// A handle to the tensor of a slot.
    pub fn handle(&mut self, slot: Slot, arena: &mut Arena) -> Option<HrTensor> {
        let tensor = self.tensors[slot as usize].as_ref()?;
        let handle = &mut self.handles[slot as usize];
        let insert = || arena.insert_part(tensor.shallow_clone(), Lease::Iteration, slot.part());
        Some(*handle.get_or_insert_with(insert))
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_abi_is_a_slot_of_its_own() {
        let slots: Vec<_> = (0..5).map_while(Slot::from_code).collect();
        assert_eq!(slots[..4], Slot::OF_BATCH);
        assert_eq!(slots.iter().map(|slot| *slot as usize).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(Slot::from_code(5), None);
    }
}

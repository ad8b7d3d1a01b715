//! The tensors of the iteration in progress: batch, output, loss. Nothing of them leaks into the next one.

use super::arena::{Arena, Lease};
use super::run_parts::RunParts;
use hookrack_plugin_api::abi::{HrTensor, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use tch::Tensor;

/// Number of slots in the ABI.
const SLOTS: usize = 5;

/// The tensors of the iteration in progress, by the ABI's slot numbers.
#[derive(Default)]
pub struct Current {
    tensors: [Option<Tensor>; SLOTS],
    // Handles are created on demand.
    handles: [Option<HrTensor>; SLOTS],
}

impl Current {
    /// Puts a tensor into a slot.
    pub fn set(&mut self, slot: u32, tensor: Option<Tensor>) {
        if let Some(place) = self.tensors.get_mut(slot as usize) {
            *place = tensor;
            self.handles[slot as usize] = None;
        }
    }

    /// The tensor of a slot.
    pub fn tensor(&self, slot: u32) -> Option<&Tensor> {
        self.tensors.get(slot as usize)?.as_ref()
    }

    /// A handle to the tensor of a slot.
    pub fn handle(&mut self, slot: u32, arena: &mut Arena) -> Option<HrTensor> {
        let tensor = self.tensors.get(slot as usize)?.as_ref()?;
        let handle = &mut self.handles[slot as usize];
        let insert = || arena.insert_part(tensor.shallow_clone(), Lease::Iteration, part(slot));
        Some(*handle.get_or_insert_with(insert))
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// What the tensor of a slot belongs to.
fn part(slot: u32) -> RunParts {
    match slot {
        SLOT_INPUT => RunParts::INPUT,
        SLOT_LABEL => RunParts::LABEL,
        SLOT_OUTPUT => RunParts::OUTPUT,
        SLOT_LOSS => RunParts::LOSS,
        _ => RunParts::GRADS,
    }
}

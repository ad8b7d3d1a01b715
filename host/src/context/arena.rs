//! Tensors that plugins refer to by handle. Using a stale handle is an error, never undefined behavior.

use super::run_parts::RunParts;
use crate::position;
use hookrack_plugin_api::abi::HrTensor;
use tch::Tensor;
use thiserror::Error;

/// Hooks that keep this many tensors are leaking them.
const MANY: usize = 100_000;

#[cold]
fn warn_many() {
    let position = position::current();
    tracing::warn!(
        "hooks keep {MANY} tensors ({position}): release those that are no longer needed"
    );
}

/// How long a handle is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// Until the run ends.
    Run,
    /// Until the iteration ends.
    Iteration,
    /// Until its owner releases it.
    Owned,
}

/// An invalid handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HandleError {
    /// Handle 0.
    #[error("the tensor handle is 0: no tensor here")]
    None,
    /// Released, or its iteration has ended.
    #[error(
        "the tensor handle is stale: it was released, or its iteration has ended (keep() returns one that stays valid)"
    )]
    Stale,
}

struct Entry {
    generation: u32,
    tensor: Option<(Tensor, Lease)>,
    // The part of the run that it belongs to; none for a hook's own tensor.
    part: RunParts,
}

/// Tensors by handle. Slots are reused, so that a steady state allocates nothing.
#[derive(Default)]
pub struct Arena {
    entries: Vec<Entry>,
    free: Vec<u32>,
    iteration: Vec<HrTensor>,
    owned: usize,
}

impl Arena {
    /// Adds a tensor that belongs to no part of the run, and returns its handle.
    pub fn insert(&mut self, tensor: Tensor, lease: Lease) -> HrTensor {
        self.insert_part(tensor, lease, RunParts::NONE)
    }

    /// Adds a tensor that belongs to a part of the run, or shares its memory, and returns its handle.
    pub fn insert_part(&mut self, tensor: Tensor, lease: Lease, part: RunParts) -> HrTensor {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { generation: 0, tensor: None, part });
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        });
        let entry = &mut self.entries[index as usize];
        (entry.tensor, entry.part) = (Some((tensor, lease)), part);
        let handle = HrTensor(u64::from(entry.generation) << 32 | u64::from(index + 1));
        match lease {
            Lease::Run => {}
            Lease::Iteration => self.iteration.push(handle),
            Lease::Owned => {
                self.owned += 1;
                if self.owned == MANY {
                    warn_many();
                }
            }
        }
        handle
    }

    fn index(&self, handle: HrTensor) -> Result<usize, HandleError> {
        let (generation, number) = (handle.0 >> 32, handle.0 & 0xffff_ffff);
        let index =
            usize::try_from(number.checked_sub(1).ok_or(HandleError::None)?).unwrap_or(usize::MAX);
        match self.entries.get(index) {
            Some(entry) if u64::from(entry.generation) == generation => Ok(index),
            _ => Err(HandleError::Stale),
        }
    }

    /// The tensor of a handle.
    pub fn tensor(&self, handle: HrTensor) -> Result<&Tensor, HandleError> {
        let entry = &self.entries[self.index(handle)?];
        entry.tensor.as_ref().map(|(tensor, _)| tensor).ok_or(HandleError::Stale)
    }

    /// What the tensor of a handle belongs to.
    pub fn part(&self, handle: HrTensor) -> Result<RunParts, HandleError> {
        Ok(self.entries[self.index(handle)?].part)
    }

    fn clear(&mut self, index: usize) {
        let entry = &mut self.entries[index];
        if let Some((_, lease)) = entry.tensor.take() {
            self.owned -= usize::from(lease == Lease::Owned);
            entry.generation = entry.generation.wrapping_add(1);
            self.free.push(u32::try_from(index).unwrap_or(u32::MAX));
        }
    }

    /// Releases a handle owned by the caller; others are ignored.
    pub fn release(&mut self, handle: HrTensor) {
        let Ok(index) = self.index(handle) else { return };
        if matches!(self.entries[index].tensor, Some((_, Lease::Owned))) {
            self.clear(index);
        }
    }

    /// Invalidates the handles of an iteration.
    pub fn end_iteration(&mut self) {
        while let Some(handle) = self.iteration.pop() {
            if let Ok(index) = self.index(handle) {
                self.clear(index);
            }
        }
    }

    /// How many tensors plugins keep.
    pub fn owned_len(&self) -> usize {
        self.owned
    }

    /// The tensors that plugins keep.
    pub fn owned(&self) -> impl Iterator<Item = &Tensor> {
        let tensors = self.entries.iter().filter_map(|entry| entry.tensor.as_ref());
        tensors.filter(|(_, lease)| *lease == Lease::Owned).map(|(tensor, _)| tensor)
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether it holds no tensor.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_good_for_its_lease_and_then_refused() {
        let mut arena = Arena::default();
        let run = arena.insert(Tensor::from(1.0), Lease::Run);
        let iteration = arena.insert(Tensor::from(2.0), Lease::Iteration);
        let owned = arena.insert(Tensor::from(3.0), Lease::Owned);
        arena.end_iteration();
        assert_eq!(arena.tensor(iteration).err(), Some(HandleError::Stale));
        assert_eq!((arena.owned_len(), arena.owned().count()), (1, 1));
        arena.release(run);
        arena.release(owned);
        assert_eq!((arena.owned_len(), arena.owned().count()), (0, 0));
        assert!(arena.tensor(run).is_ok(), "what the host lends is not the borrower's to release");
        assert_eq!(arena.tensor(owned).err(), Some(HandleError::Stale));
        assert_eq!(arena.tensor(HrTensor::NONE).err(), Some(HandleError::None));
        assert_eq!(arena.tensor(HrTensor(99)).err(), Some(HandleError::Stale));
    }

    #[test]
    fn slots_are_reused_and_old_handles_stay_stale() {
        let mut arena = Arena::default();
        let first = arena.insert(Tensor::from(1.0), Lease::Iteration);
        for _ in 0..1000 {
            arena.end_iteration();
            arena.insert(Tensor::from(2.0), Lease::Iteration);
        }
        assert_eq!(arena.len(), 1);
        assert!(arena.tensor(first).is_err());
    }
}

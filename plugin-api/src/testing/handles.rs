//! The tensors that hooks have handles to, and how long each handle is valid.

use super::tensor::FakeTensor;
use super::world::{Param, World};
use crate::abi::{HrTensor, SLOT_GRAD_NORM, SLOT_INPUT, SLOT_LABEL};
use crate::error::{Error, Result};
use crate::phase::Phase;
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Lease {
    Run,
    Iteration,
    Caller,
}

/// The tensors that hooks have handles to.
#[derive(Default)]
pub(super) struct Arena {
    last: u64,
    live: BTreeMap<u64, (FakeTensor, Option<Lease>)>,
}

/// Handles.
impl World {
    fn lend(&mut self, tensor: FakeTensor, lease: Lease) -> HrTensor {
        self.arena.last += 1;
        self.arena.live.insert(self.arena.last, (tensor, Some(lease)));
        HrTensor(self.arena.last)
    }

    /// A handle that the caller releases.
    pub(crate) fn give(&mut self, tensor: FakeTensor) -> HrTensor {
        self.lend(tensor, Lease::Caller)
    }

    /// The tensor behind a handle.
    pub(crate) fn tensor(&self, handle: HrTensor) -> Result<FakeTensor> {
        match self.arena.live.get(&handle.0) {
            Some((tensor, _)) => Ok(tensor.clone()),
            None if handle == HrTensor::NONE => crate::bail!("no tensor here"),
            None => crate::bail!(
                "the tensor handle is stale: it was released, or its iteration has ended (keep() returns one that stays valid)"
            ),
        }
    }

    pub(crate) fn release(&mut self, handles: &[HrTensor]) {
        for handle in handles {
            if matches!(self.arena.live.get(&handle.0), Some((_, Some(Lease::Caller)))) {
                self.arena.live.remove(&handle.0);
            }
        }
    }

    /// How many tensors hooks have not released.
    pub(crate) fn kept(&self) -> usize {
        self.arena.live.values().filter(|(_, lease)| *lease == Some(Lease::Caller)).count()
    }

    /// Invalidates the handles of the iteration.
    pub(crate) fn end_iteration(&mut self) {
        self.arena.live.retain(|_, (_, lease)| *lease != Some(Lease::Iteration));
        self.slots = [const { None }; 5];
        for param in &mut self.params {
            param.grad = None;
        }
    }

    /// Puts the batch into the slots; what is computed is not there yet.
    pub(crate) fn begin_iteration(&mut self) {
        self.end_iteration();
        let [input, label, ..] = self.batch.clone();
        let label = label.filter(|_| self.phase() != Phase::Pred);
        for (slot, tensor) in [(SLOT_INPUT, input), (SLOT_LABEL, label)] {
            if let Some(tensor) = tensor {
                self.put_slot(slot, tensor);
            }
        }
    }

    /// Fills empty slots with the configured tensors of the batch, for a point that is fired on its own.
    pub(crate) fn fill_slots(&mut self) {
        for (slot, tensor) in (0..).zip(self.batch.clone()) {
            if let Some(tensor) = tensor.filter(|_| self.in_slot(slot).is_none()) {
                self.put_slot(slot, tensor);
            }
        }
        for param in self.params.iter_mut().filter(|param| param.trainable) {
            if param.grad.is_none() {
                param.grad = param.gradient.as_ref().map(FakeTensor::copy);
            }
        }
    }

    pub(crate) fn put_slot(&mut self, slot: u32, tensor: FakeTensor) {
        let handle = self.lend(tensor.clone(), Lease::Iteration);
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = Some((tensor, handle));
        }
    }

    /// The tensor of a slot and its handle.
    pub(crate) fn slot(&mut self, slot: u32) -> Option<HrTensor> {
        if slot == SLOT_GRAD_NORM {
            let squares = self.params.iter().filter_map(|param| param.grad.as_ref());
            let squares = squares.flat_map(FakeTensor::values).map(|x| x * x).sum::<f64>();
            self.put_slot(slot, FakeTensor::from(squares.sqrt()));
        }
        self.slots.get(slot as usize).cloned().flatten().map(|(_, handle)| handle)
    }

    pub(crate) fn in_slot(&self, slot: u32) -> Option<FakeTensor> {
        self.slots.get(slot as usize).cloned().flatten().map(|(tensor, _)| tensor)
    }

    /// The handles of parameters, gradients or buffers, at an address that stays until the engine changes something.
    pub(crate) fn row(&mut self, list: u32) -> Result<&[HrTensor]> {
        let handles: Vec<_> = match list {
            crate::abi::LIST_PARAMS => self.params.iter().map(|param| param.handle).collect(),
            crate::abi::LIST_BUFFERS => self.buffers.iter().map(|(_, _, handle)| *handle).collect(),
            crate::abi::LIST_GRADS => self.grad_handles(),
            _ => crate::bail!("unknown list {list}"),
        };
        let row = &mut self.rows[list as usize];
        if *row != handles {
            *row = handles;
        }
        Ok(row)
    }

    fn grad_handles(&mut self) -> Vec<HrTensor> {
        let grads: Vec<_> = self.params.iter().map(|param| param.grad.clone()).collect();
        let known = self.rows[crate::abi::LIST_GRADS as usize].clone();
        let handle = |(index, grad): (usize, Option<FakeTensor>)| {
            let Some(grad) = grad else { return HrTensor::NONE };
            let before = known.get(index).and_then(|handle| self.arena.live.get(&handle.0));
            match before {
                Some((tensor, _)) if tensor.shares_memory_with(&grad) => known[index],
                _ => self.lend(grad, Lease::Iteration),
            }
        };
        grads.into_iter().enumerate().map(handle).collect()
    }

    pub(crate) fn add_param(&mut self, name: &str, tensor: FakeTensor) {
        let handle = self.lend(tensor.clone(), Lease::Run);
        let name = name.to_owned();
        let param = Param { name, tensor, handle, gradient: None, grad: None, trainable: true };
        self.params.push(param);
    }

    pub(crate) fn add_buffer(&mut self, name: &str, tensor: FakeTensor) {
        let handle = self.lend(tensor.clone(), Lease::Run);
        self.buffers.push((name.to_owned(), tensor, handle));
    }

    pub(crate) fn param(&self, name: &str) -> Result<&Param> {
        let found = self.params.iter().find(|param| param.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self.params.iter().map(|param| param.name.as_str()).collect();
            Error::new(format!("no parameter `{name}`; there are {names:?}"))
        })
    }
}

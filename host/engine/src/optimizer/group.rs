//! A group of parameters that share a learning rate, a weight decay and a momentum.

use tch::Tensor;

use super::owned_shards::OwnedShards;
use super::partition::Partition;
use crate::error::Result;
use crate::named_tensor::NamedTensor;
use crate::tensor_shard::TensorShard;
use hookrack_torch::TensorList;

/// Parameters with common settings.
#[derive(Debug)]
pub struct Group {
    /// Its name in logs.
    pub name: String,
    /// The rate that schedules start from.
    pub base_lr: f64,
    /// The rate of the next step.
    pub lr: f64,
    /// The weight decay of the next step.
    pub weight_decay: f64,
    /// The momentum of the next step, or Adam's first beta; `None` for an optimizer without.
    pub momentum: Option<f64>,
    /// The parameters.
    pub params: Vec<NamedTensor>,
    // The same, as a list for list operators.
    list: TensorList,
    // The parts of them that this process steps.
    owned: OwnedShards,
    // Frozen from the start: they have no state.
    waiting: Vec<NamedTensor>,
}

impl Group {
    /// A group of parameters, divided among ranks; frozen ones are set aside.
    pub(super) fn new(
        name: String,
        (lr, weight_decay, momentum): (f64, f64, Option<f64>),
        params: Vec<NamedTensor>,
        cut: Partition,
    ) -> Result<Self> {
        let mut group = Self {
            name,
            base_lr: lr,
            lr,
            weight_decay,
            momentum,
            params: Vec::new(),
            list: TensorList::default(),
            owned: OwnedShards::new(cut),
            waiting: params,
        };
        group.admit()?;
        Ok(group)
    }

    /// The number of its parameters, frozen or not.
    pub fn size(&self) -> usize {
        self.params.len() + self.waiting.len()
    }

    /// Whether a parameter belongs to it, frozen or not.
    pub fn has(&self, name: &str) -> bool {
        self.params.iter().chain(&self.waiting).any(|param| param.name == name)
    }

    /// The parameters as a list for list operators.
    pub fn list(&self) -> &TensorList {
        &self.list
    }

    /// The parts of the parameters that this process steps and keeps state for.
    pub(super) fn own(&self) -> &[TensorShard] {
        self.owned.pieces()
    }

    /// The same, as a list for list operators.
    pub(super) fn own_list(&self) -> &TensorList {
        self.owned.list()
    }

    /// The memory that each rank steps, as bytes; empty if this process steps everything.
    pub(crate) fn by_rank(&self) -> &[Vec<Tensor>] {
        self.owned.by_rank()
    }

    /// Runs a step in which the parts that this process steps have their gradients.
    pub(super) fn with_grads(&self, step: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        self.owned.set_shard_grads()?;
        let stepped = step(self);
        self.owned.clear_shard_grads()?;
        stepped
    }

    /// Adds parameters that are no longer frozen, after the others; returns the parts that this process steps, which need state.
    pub(super) fn admit(&mut self) -> Result<&[TensorShard]> {
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let (trained, waiting): (Vec<_>, _) =
            waiting.partition(|param| param.tensor.requires_grad());
        self.waiting = waiting;
        let known = self.params.len();
        for param in &trained {
            self.list.push(&param.tensor);
        }
        self.params.extend(trained);
        self.owned.add_params(&self.params[known..])
    }
}

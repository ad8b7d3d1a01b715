//! A group of parameters that share a learning rate, a weight decay and a momentum.

use crate::named_tensor::NamedTensor;
use hookrack_torch::TensorList;

/// Parameters stepped alike.
#[derive(Debug)]
pub struct Group {
    /// What the group is called in logs.
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
    /// The same as a list for list operators.
    pub list: TensorList,
    // Frozen from the start: they have no state.
    waiting: Vec<NamedTensor>,
}

impl Group {
    /// A group without parameters.
    pub(super) fn new(name: String, lr: f64, weight_decay: f64, momentum: Option<f64>) -> Self {
        let (params, list, waiting) = (Vec::new(), TensorList::default(), Vec::new());
        Self { name, base_lr: lr, lr, weight_decay, momentum, params, list, waiting }
    }

    /// Adds a parameter; one that is frozen waits.
    pub(super) fn add(&mut self, param: NamedTensor) {
        if !param.tensor.requires_grad() {
            return self.waiting.push(param);
        }
        self.list.push(&param.tensor);
        self.params.push(param);
    }

    /// How many parameters belong to it, frozen or not.
    pub fn size(&self) -> usize {
        self.params.len() + self.waiting.len()
    }

    /// Whether nothing belongs to it, not even something frozen.
    pub(super) fn is_empty(&self) -> bool {
        self.params.is_empty() && self.waiting.is_empty()
    }

    /// Whether a parameter belongs to it, frozen or not.
    pub fn has(&self, name: &str) -> bool {
        self.params.iter().chain(&self.waiting).any(|param| param.name == name)
    }

    /// Takes in what waits and can be trained now, after the others; gives it, for its state to be made.
    pub(super) fn admit(&mut self) -> Vec<NamedTensor> {
        let waiting = std::mem::take(&mut self.waiting);
        let known = self.params.len();
        for param in waiting {
            self.add(param);
        }
        self.params[known..].to_vec()
    }
}

//! A group of parameters that share a learning rate and a weight decay.

use crate::engine::named_tensor::{NamedTensor, tensor_list};
use crate::torch::TensorList;

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
    /// The parameters.
    pub params: Vec<NamedTensor>,
    /// The same as a list for list operators.
    pub list: TensorList,
}

impl Group {
    /// One group with all parameters.
    pub fn all(params: &[NamedTensor], lr: f64, weight_decay: f64) -> Self {
        Self {
            name: "all".to_owned(),
            base_lr: lr,
            lr,
            weight_decay,
            params: params.to_vec(),
            list: tensor_list(params),
        }
    }
}

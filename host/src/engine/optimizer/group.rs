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
    /// One group with all parameters; or, with the switch, one for the matrices and kernels and one without
    /// weight decay for the parameters of at most one dimension: biases, and the scales of norms.
    pub fn split(
        params: &[NamedTensor],
        lr: f64,
        weight_decay: f64,
        no_decay_on_norm_and_bias: bool,
    ) -> Vec<Self> {
        if !no_decay_on_norm_and_bias {
            return vec![Self::new("all", params.to_vec(), lr, weight_decay)];
        }
        let (flat, deep): (Vec<_>, Vec<_>) =
            params.iter().cloned().partition(|param| param.tensor.dim() <= 1);
        let groups =
            [Self::new("decay", deep, lr, weight_decay), Self::new("no_decay", flat, lr, 0.0)];
        groups.into_iter().filter(|group| !group.params.is_empty()).collect()
    }

    fn new(name: &str, params: Vec<NamedTensor>, lr: f64, weight_decay: f64) -> Self {
        let list = tensor_list(&params);
        Self { name: name.to_owned(), base_lr: lr, lr, weight_decay, params, list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Tensor;

    fn param(name: &str, shape: &[i64]) -> NamedTensor {
        NamedTensor::new(name, Tensor::zeros(shape, tch::kind::FLOAT_CPU))
    }

    fn split(params: &[NamedTensor], switch: bool) -> Vec<(String, f64, Vec<String>)> {
        let named = |params: Vec<NamedTensor>| params.into_iter().map(|param| param.name).collect();
        let groups = Group::split(params, 1.0, 0.1, switch).into_iter();
        groups.map(|group| (group.name, group.weight_decay, named(group.params))).collect()
    }

    #[test]
    fn the_switch_takes_decay_from_what_has_one_dimension() {
        let params = [param("w", &[2, 2]), param("b", &[2]), param("scale", &[])];
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let decay = ("decay".to_owned(), 0.1, names(&["w"]));
        let no_decay = ("no_decay".to_owned(), 0.0, names(&["b", "scale"]));
        assert_eq!(split(&params, true), [decay.clone(), no_decay]);
        assert_eq!(split(&params[..1], true), [decay]);
        assert_eq!(split(&params, false), [("all".to_owned(), 0.1, names(&["w", "b", "scale"]))]);
    }
}

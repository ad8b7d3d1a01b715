//! State tensors beside their parameters: how they start and what they are called.

use tch::{Kind, Tensor};

use crate::error::Result;
use crate::named_tensor::NamedTensor;
use hookrack_torch::TensorList;
use hookrack_torch::autograd::GradMode;

/// How one kind of state starts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// Shaped and laid out as the parameter, every number this.
    At(f64),
    /// One number for each parameter: its steps so far.
    Counter,
    /// Undefined until the parameter's first step.
    Late,
    /// Not kept: the list stays empty.
    Unused,
}

/// A list with the first state of each parameter.
pub(super) fn fresh(params: &[NamedTensor], start: Start) -> Result<TensorList> {
    let _no_grad = GradMode::set(false);
    let mut list = TensorList::default();
    for param in params {
        match start {
            Start::At(value) => list.push(&param.tensor.f_full_like(value)?),
            Start::Counter => {
                let options = (Kind::Float, param.tensor.device());
                list.push(&Tensor::f_zeros([0; 0], options)?);
            }
            Start::Late => list.push(&Tensor::new()),
            Start::Unused => {}
        }
    }
    Ok(list)
}

/// The state of each parameter in turn, named `<param>.<kind>`; handles to the live tensors.
pub(super) fn named(params: &[NamedTensor], kinds: &[(&str, &TensorList)]) -> Vec<NamedTensor> {
    let of_one = |(index, param): (usize, &NamedTensor)| {
        let tensors = kinds.iter().filter_map(move |(kind, list)| {
            Some((kind, list.tensor(index).filter(Tensor::defined)?))
        });
        let name = param.name.clone();
        tensors
            .map(move |(kind, tensor)| NamedTensor::new(format!("{name}.{kind}"), tensor))
            .collect::<Vec<_>>()
    };
    params.iter().enumerate().flat_map(of_one).collect()
}

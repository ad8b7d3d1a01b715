//! State tensors beside their parameters: how they start and what they are called.

use tch::{Kind, Tensor};

use crate::error::Result;
use crate::tensor_shard::TensorShard;
use hookrack_torch::TensorList;
use hookrack_torch::autograd::GradMode;

/// How one kind of state starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Start {
    /// Shaped like the stepped part of the parameter, filled with this value.
    At(f64),
    /// A scalar: the number of steps so far.
    Counter,
    /// Undefined until the parameter's first step.
    Late,
    /// Not kept: the list stays empty.
    Unused,
}

/// The initial state of each piece that is stepped.
pub(super) fn fresh(pieces: &[TensorShard], start: Start) -> Result<TensorList> {
    let _no_grad = GradMode::set(false);
    let mut list = TensorList::default();
    for piece in pieces {
        match start {
            Start::At(value) => list.push(&piece.tensor.f_full_like(value)?),
            Start::Counter => {
                let options = (Kind::Float, piece.tensor.device());
                list.push(&Tensor::f_zeros([0; 0], options)?);
            }
            Start::Late => list.push(&Tensor::new()),
            Start::Unused => {}
        }
    }
    Ok(list)
}

impl Start {
    /// Zeros, where there is such state.
    pub(super) fn zeros_if(is_kept: bool) -> Self {
        if is_kept { Self::At(0.0) } else { Self::Unused }
    }

    /// The state of this kind for a piece that is stepped, in a tensor created by [`fresh`].
    pub(super) fn piece(self, kind: &str, of: &TensorShard, tensor: Tensor) -> TensorShard {
        let part = if self == Self::Counter { None } else { of.part.clone() };
        TensorShard { name: name(&of.name, kind), tensor, part }
    }

    /// Whether another rank saves this state of a piece. A counter is the same on every rank with a part of the parameter; the
    /// rank with the first part saves it.
    pub(super) fn is_saved_elsewhere(self, of: &TensorShard) -> bool {
        self == Self::Counter && of.range().start > 0
    }
}

/// A momentum with buffers. Without momentum there are none, so it cannot be scheduled.
pub(super) fn kept(momentum: f64) -> Option<f64> {
    (momentum > 0.0).then_some(momentum)
}

/// The name of a parameter's state.
pub(super) fn name(param: &str, kind: &str) -> String {
    format!("{param}.{kind}")
}

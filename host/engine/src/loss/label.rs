//! What losses require of labels: classes or numbers, and a shape that is never broadcast.

use tch::Tensor;

use crate::data::{DataSpec, Target};
use crate::error::{EngineError, Result};
use hookrack_torch::shape;

/// How many classes the labels have, or what to use instead.
pub(super) fn classes(data: &DataSpec) -> std::result::Result<i64, &'static str> {
    match data.target {
        Target::Classes(count) | Target::Tokens(count) => Ok(count),
        Target::Shares(_) => {
            Err("the labels of this data set are class probabilities: use CrossEntropy")
        }
        Target::Values(_) => Err("the labels of this data set are not classes: use MSE"),
    }
}

/// The same for losses that also accept class probabilities.
pub(super) fn classes_or_shares(data: &DataSpec) -> std::result::Result<i64, &'static str> {
    match data.target {
        Target::Shares(count) => Ok(count),
        _ => classes(data),
    }
}

/// The shape of labels that are numbers, or what to use instead.
pub(super) fn values(data: &DataSpec) -> std::result::Result<&[i64], &'static str> {
    match &data.target {
        Target::Values(shape) => Ok(shape),
        Target::Classes(_) | Target::Shares(_) => {
            Err("the labels of this data set are classes: use CrossEntropy")
        }
        Target::Tokens(_) => Err("the labels of this data set are tokens: use CrossEntropy"),
    }
}

/// Scores of tokens, [batch, token, vocabulary], as libtorch expects those of classes: one row each. Others stay as they are.
pub(super) fn by_row(output: &Tensor, label: &Tensor) -> Result<(Tensor, Tensor)> {
    let is_same = |index| shape::side(output, index) == shape::side(label, index);
    if output.dim() == 3 && label.dim() == 2 && is_same(0) && is_same(1) {
        return Ok((output.f_flatten(0, 1)?, label.f_flatten(0, 1)?));
    }
    Ok((output.shallow_clone(), label.shallow_clone()))
}

/// libtorch would silently broadcast [n] against [n, 1] to [n, n].
pub(super) fn same_shape(what: &'static str, output: &Tensor, label: &Tensor) -> Result<()> {
    if shape::is_same(output, label) {
        return Ok(());
    }
    let wanted = format!("{:?} as the output has", output.size());
    Err(EngineError::Shape { what, wanted, found: label.size() })
}

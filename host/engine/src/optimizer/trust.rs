//! The trust ratio of LAMB and LARS: the scale of a tensor's step.

use tch::Tensor;

use crate::error::Result;
use hookrack_torch::{TensorList, foreach};

/// Multiplies each update by its ratio, or leaves it if one of the two norms is zero: weights that start at
/// zero could never leave it otherwise. Reads no values, so it does not synchronize.
pub(super) fn scale(
    updates: &TensorList,
    weight_norms: &Tensor,
    other_norms: &Tensor,
    ratios: &Tensor,
) -> Result<()> {
    let none = weight_norms.f_eq(0.0)?.f_logical_or(&other_norms.f_eq(0.0)?)?;
    let ratios: TensorList = ratios.f_masked_fill(&none, 1.0)?.f_unbind(0)?.into_iter().collect();
    Ok(foreach::mul_list_(updates, &ratios)?)
}

//! A model in doubles: its tensors are converted once it is made.

use tch::Kind;

use super::Model;
use crate::error::Result;
use crate::named_tensor::NamedTensor;

/// Makes a model compute in `kind`: if that is 64 bits, its parameters and float buffers are converted in place. They are drawn as floats,
/// so that a run in 64 bits starts from the values of one in 32.
pub(crate) fn widen(model: &dyn Model, kind: Kind) -> Result<()> {
    if kind != Kind::Double {
        return Ok(());
    }
    let info = model.info();
    let tensors = info.params.iter().chain(&info.buffers).chain(&info.copies);
    for NamedTensor { tensor, .. } in tensors.filter(|named| named.tensor.is_floating_point()) {
        tensor.shallow_clone().f_set_data(&tensor.f_detach()?.f_to_kind(kind)?)?;
    }
    Ok(())
}

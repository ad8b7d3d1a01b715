//! A dry run: both modes of a model once on made-up samples, before any training.
//!
//! It finds errors that only running finds, and has no side effects: random numbers and buffers are restored.

use tch::{Kind, Tensor};

use super::{Mode, Model, ModelContext};
use crate::data::Target;
use crate::error::Result;
use crate::named_tensor::tensor_list;
use hookrack_torch::autograd::GradMode;
use hookrack_torch::{foreach, rng};

/// As many as a norm over the batch needs.
const ROWS: i64 = 2;

/// Runs a model on zeros in the shape of the data, in train and in eval mode; returns the last output's shape.
pub(super) fn dry_run(model: &dyn Model, context: &ModelContext) -> Result<Vec<i64>> {
    let random = rng::state(context.device)?;
    let buffers = tensor_list(model.buffers());
    let kept = foreach::clone_detached(&buffers)?;
    let outcome = both_modes(model, context);
    foreach::copy_(&buffers, &kept)?;
    rng::set_state(&random, context.device)?;
    outcome
}

fn both_modes(model: &dyn Model, context: &ModelContext) -> Result<Vec<i64>> {
    let kind = if context.data.has_tokens() { Kind::Int64 } else { context.kind };
    let input = Tensor::f_zeros(input_shape(context), (kind, context.device))?;
    let run = |mode| {
        let _recorded = GradMode::set(mode == Mode::Train);
        model.forward(&input, mode)
    };
    let _ = run(Mode::Train)?;
    Ok(run(Mode::Eval)?.size())
}

/// The shape of its input.
pub(super) fn input_shape(context: &ModelContext) -> Vec<i64> {
    std::iter::once(ROWS).chain(context.data.input.iter().copied()).collect()
}

/// The shape of an output that the data need: a score per class for each sample or token, or numbers.
pub(super) fn wanted_output(context: &ModelContext) -> Vec<i64> {
    let data = &context.data;
    let of_sample = match &data.target {
        Target::Classes(count) | Target::Shares(count) => vec![*count],
        Target::Tokens(count) => data.input.iter().copied().chain([*count]).collect(),
        Target::Values(shape) => shape.clone(),
    };
    std::iter::once(ROWS).chain(of_sample).collect()
}

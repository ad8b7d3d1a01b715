//! The few operators that bundled plugins call, as loops.

use crate::arena::{Arena, Data};
use hookrack_plugin_api::abi::{ARG_FLOAT, ARG_TENSOR, ARG_TENSORS, HrArg, HrTensor};

/// The operators' names; an operator's number is its place here, counted from 1.
const NAMES: [&str; 3] = ["aten::_foreach_lerp_.Scalar", "aten::_foreach_copy_", "aten::clone"];

pub(crate) fn find(name: &str) -> Result<u64, String> {
    let place = NAMES.iter().position(|known| *known == name);
    place
        .map(|place| place as u64 + 1)
        .ok_or_else(|| format!("the fake host has no operator {name}"))
}

/// Calls an operator; the handle of its result, where it has one.
pub(crate) fn call(arena: &mut Arena, op: u64, args: &[HrArg]) -> Result<Option<HrTensor>, String> {
    match (op, args) {
        (1, [own, target, weight]) if weight.kind == ARG_FLOAT => {
            let weight = weight.float_;
            pairwise(arena, *own, *target, |own, target| {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "tensors are of 32 bits, as in libtorch"
                )]
                let weight = weight as f32;
                own + weight * (target - own)
            })
        }
        (2, [own, source]) => pairwise(arena, *own, *source, |_, source| source),
        (3, [tensor]) if tensor.kind == ARG_TENSOR => {
            #[expect(
                clippy::cast_sign_loss,
                reason = "a handle is 64 bits, whatever they are called"
            )]
            let copy = arena.find(HrTensor(tensor.int as u64))?.borrow().clone();
            Ok(Some(arena.add(copy)))
        }
        _ => Err(format!("operator {op} does not take these arguments")),
    }
}

fn handles(arg: HrArg) -> Result<Vec<HrTensor>, String> {
    if arg.kind != ARG_TENSORS {
        return Err("expected a list of tensors".to_owned());
    }
    if arg.len == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: a plugin that gives ARG_TENSORS lends `len` handles until the call returns.
    Ok(unsafe { std::slice::from_raw_parts(arg.ptr.cast::<HrTensor>(), arg.len) }.to_vec())
}

fn pairwise(
    arena: &mut Arena,
    own: HrArg,
    other: HrArg,
    make: impl Fn(f32, f32) -> f32,
) -> Result<Option<HrTensor>, String> {
    for (own, other) in handles(own)?.into_iter().zip(handles(other)?) {
        let other = arena.find(other)?.borrow().clone();
        let own = arena.find(own)?;
        match (&mut *own.borrow_mut(), other) {
            (Data::F32(own, _), Data::F32(other, _)) if own.len() == other.len() => {
                for (own, other) in own.iter_mut().zip(other) {
                    *own = make(*own, other);
                }
            }
            _ => return Err("expected floats of the same number".to_owned()),
        }
    }
    Ok(None)
}

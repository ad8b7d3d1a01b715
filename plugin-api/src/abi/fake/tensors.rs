//! Tensors and operators.

use super::{Caller, functions, lent, table};
use crate::abi::{
    ARG_BOOL, ARG_FLOAT, ARG_FLOATS, ARG_INT, ARG_INTS, ARG_NONE, ARG_TENSOR, ARG_TENSORS,
    ARG_TEXT, DLTensor, HrArg, HrOp, HrStr, HrTensor, HrTensors, LIST_BUFFERS, LIST_PARAMS,
    SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT,
};
use crate::error::{Error, Result};
use crate::testing::rules::{self, Parts};
use crate::testing::tensor::FakeTensor;
use crate::testing::world::World;
use crate::testing::{FakeValue, ops};
use std::ffi::c_void;
use std::sync::Mutex;

table!(TensorTable {
    slot,
    set_slot,
    list,
    name,
    keep,
    release,
    item,
    view,
    from_view,
    op_find,
    op_call
});

functions! {
    find slot(world, _, slot: u32) -> HrTensor { Ok(world.slot(slot)) }
    call set_slot(world, caller, slot: u32, tensor: HrTensor) {
        let (point, tensor) = (caller.point.get(), world.tensor(tensor)?);
        match slot {
            SLOT_OUTPUT => rules::in_role(point, "output")?,
            SLOT_LOSS => rules::in_role(point, "loss")?,
            SLOT_INPUT | SLOT_LABEL => {
                let is_input = slot == SLOT_INPUT;
                let (what, part) = if is_input { ("input", Parts::INPUT) } else { ("label", Parts::LABEL) };
                rules::before_iter(point, what)?;
                caller.check_declared(part, || format!("set_{what}()"))?;
                return world.change_batch(slot, tensor, what);
            }
            _ => crate::bail!("only input, label, output and loss can be set"),
        }
        world.put_slot(slot, tensor);
        Ok(())
    }
    read list(world, _, list: u32) -> HrTensors {
        let row = world.row(list)?;
        Ok(HrTensors { ptr: row.as_ptr(), len: row.len() })
    }
    read name(world, _, list: u32, index: usize) -> HrStr {
        let name = match list {
            LIST_PARAMS => world.params.get(index).map(|param| &param.name),
            LIST_BUFFERS => world.buffers.get(index).map(|(name, ..)| name),
            _ => None,
        };
        let name = name.ok_or_else(|| Error::new(format!("list {list} has no name {index}")))?;
        Ok(HrStr::new(name))
    }
    read keep(world, _, tensor: HrTensor) -> HrTensor {
        let tensor = world.tensor(tensor)?;
        Ok(world.give(tensor))
    }
    read item(world, _, tensor: HrTensor) -> f64 { world.tensor(tensor)?.item() }
    read view(world, _, tensor: HrTensor, _flags: u32) -> DLTensor {
        Ok(world.tensor(tensor)?.dl_tensor())
    }
    read op_find(world, _, name: String) -> HrOp {
        let known = world.own_ops.contains_key(&name) || ops::is_known(&name);
        crate::ensure!(known, "{}", ops::unknown(&name));
        Ok(number_of(&name))
    }
    read from_view(world, _, view: *const DLTensor) -> HrTensor {
        // SAFETY: a hook lends the view until this returns.
        let view = unsafe { &*view };
        let tensor = FakeTensor::of(view.dtype, &numbers(view)?, view.sizes())?;
        Ok(world.give(tensor))
    }
    call op_call(
        world, caller, op: HrOp, args: *const HrArg, arg_count: usize, results: *mut HrArg, capacity: usize,
        count: *mut usize
    ) {
        // SAFETY: the arguments are lent until this returns.
        let args = unsafe { lent(args, arg_count).iter().map(|arg| taken(world, arg)) };
        let (name, args) = (name_of(op)?, args.collect::<Result<Vec<_>>>()?);
        for tensor in ops::written(&name, &args) {
            caller.check_declared(world.part_of(tensor), || format!("`{name}`"))?;
        }
        let values = world.call_op(&name, &args)?;
        world.returned.clear();
        let made = values.into_iter().map(|value| given(world, value)).collect::<Result<Vec<_>>>()?;
        for (index, value) in made.iter().take(capacity).enumerate() {
            // SAFETY: a hook gives a row of `capacity` places.
            unsafe { results.add(index).write(*value) };
        }
        // SAFETY: a hook gives a place for one number.
        unsafe { count.write(made.len().min(capacity)) };
        Ok(())
    }
}

/// Names of operators by number, valid for the process: hooks keep the number in statics.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn number_of(name: &str) -> HrOp {
    let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let index = names.iter().position(|own| own == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    HrOp(index as u64 + 1)
}

fn name_of(op: HrOp) -> Result<String> {
    let names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let index = usize::try_from(op.0.wrapping_sub(1))?;
    names.get(index).cloned().ok_or_else(|| Error::new("an operator that was never looked up"))
}

unsafe extern "C" fn release(host: *mut c_void, tensors: *const HrTensor, count: usize) {
    // SAFETY: a hook calls with the pointer of its handle, and lends the handles until this returns.
    let (caller, handles) = unsafe { (Caller::of(host), lent(tensors, count)) };
    // A hook that is dropped after the trainer has nothing left to release.
    let _ = caller.answer(|world, _| {
        world.release(handles);
        Ok(())
    });
}

/// The elements of a contiguous view that a hook passes.
fn numbers(view: &DLTensor) -> Result<Vec<f64>> {
    use crate::view::Element;
    macro_rules! read {
        ($($ty:ty),*) => {
            $(if view.dtype == <$ty as Element>::DATA_TYPE {
                #[allow(clippy::cast_lossless, clippy::cast_precision_loss, trivial_numeric_casts, clippy::allow_attributes,
                        reason = "one body for every type; small numbers alone go through a test")]
                return Ok(view.elements::<$ty>().iter().map(|x| *x as f64).collect());
            })*
        };
    }
    read!(f32, f64, i64, i32, i16, i8, u8);
    crate::bail!("the fake trainer has no tensors of {}", view.dtype)
}

/// # Safety
/// What the argument points to is lent.
unsafe fn taken(world: &World, arg: &HrArg) -> Result<FakeValue> {
    // SAFETY: by the contract; the kind says what the pointer leads to.
    unsafe {
        Ok(match arg.kind {
            ARG_NONE => FakeValue::None,
            ARG_TENSOR => FakeValue::Tensor(world.tensor(HrTensor(arg.int.cast_unsigned()))?),
            ARG_TENSORS => {
                let tensor = |handle: &HrTensor| match *handle {
                    HrTensor::NONE => Ok(None),
                    handle => world.tensor(handle).map(Some),
                };
                FakeValue::Tensors(
                    lent(arg.ptr.cast(), arg.len).iter().map(tensor).collect::<Result<_>>()?,
                )
            }
            ARG_FLOAT => FakeValue::Float(arg.float_),
            ARG_INT => FakeValue::Int(arg.int),
            ARG_BOOL => FakeValue::Bool(arg.int != 0),
            ARG_TEXT => {
                FakeValue::Text(String::from_utf8_lossy(lent(arg.ptr.cast(), arg.len)).into_owned())
            }
            ARG_INTS => FakeValue::Ints(lent(arg.ptr.cast(), arg.len).to_vec()),
            ARG_FLOATS => FakeValue::Floats(lent(arg.ptr.cast(), arg.len).to_vec()),
            kind => crate::bail!("an argument of unknown kind {kind}"),
        })
    }
}

fn given(world: &mut World, value: FakeValue) -> Result<HrArg> {
    Ok(match value {
        FakeValue::None => HrArg::NONE,
        FakeValue::Tensor(tensor) => {
            let handle = world.give(tensor);
            HrArg { kind: ARG_TENSOR, int: handle.0.cast_signed(), ..HrArg::NONE }
        }
        FakeValue::Tensors(list) => {
            let give = |tensor: Option<FakeTensor>| {
                tensor.map_or(HrTensor::NONE, |tensor| world.give(tensor))
            };
            let handles: Vec<_> = list.into_iter().map(give).collect();
            // Lent until the next operator.
            let (ptr, len) = (handles.as_ptr().cast(), handles.len());
            world.returned.push(handles);
            HrArg { kind: ARG_TENSORS, ptr, len, ..HrArg::NONE }
        }
        FakeValue::Float(number) => HrArg { kind: ARG_FLOAT, float_: number, ..HrArg::NONE },
        FakeValue::Int(number) => HrArg { kind: ARG_INT, int: number, ..HrArg::NONE },
        FakeValue::Bool(truth) => HrArg { kind: ARG_BOOL, int: truth.into(), ..HrArg::NONE },
        other => crate::bail!("an operator cannot return {other:?}"),
    })
}

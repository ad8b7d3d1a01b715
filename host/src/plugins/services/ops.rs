//! Any operator of libtorch for plugins: handles become tensors, the call is libtorch's own.

use super::desk::Desk;
use crate::torch::{self, Arg, Op, Return, Returns};
use crate::train::{Arena, Context, Lease};
use hookrack_plugin_api::abi::{
    ARG_BOOL, ARG_FLOAT, ARG_FLOATS, ARG_INT, ARG_INTS, ARG_NONE, ARG_TENSOR, ARG_TENSORS,
    ARG_TEXT, HrArg, HrOp, HrStatus, HrStr, HrTensor,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{PoisonError, RwLock};
use tch::Tensor;
use torch::value::{RawValue, tag};

/// The operators found so far, for the whole process: a plugin keeps what it found.
#[derive(Default)]
struct Found {
    ops: Vec<Op>,
    names: HashMap<String, HrOp>,
}

static FOUND: RwLock<Option<Found>> = RwLock::new(None);

thread_local! {
    // Room for one call, kept so that a steady state allocates nothing.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    args: Vec<Arg<'static>>,
    tensors: Vec<*mut torch_sys::C_tensor>,
    returns: Returns,
    handles: Vec<HrTensor>,
}

pub(super) unsafe extern "C" fn find(host: *mut c_void, name: HrStr, out: *mut HrOp) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends the name until this returns.
    let (desk, name) = unsafe { (Desk::of(host), name.to_lossy()) };
    desk.answer(|_| {
        let mut found = FOUND.write().unwrap_or_else(PoisonError::into_inner);
        let found = found.get_or_insert_default();
        let op = if let Some(op) = found.names.get(name.as_ref()) {
            *op
        } else {
            found.ops.push(Op::find(&name)?);
            let op = HrOp(found.ops.len() as u64);
            found.names.insert(name.into_owned(), op);
            op
        };
        // SAFETY: the caller gives a place for one number.
        unsafe { out.write(op) };
        Ok::<_, torch::TorchError>(())
    })
}

pub(super) unsafe extern "C" fn call(
    host: *mut c_void,
    op: HrOp,
    args: *const HrArg,
    arg_count: usize,
    results: *mut HrArg,
    capacity: usize,
    count: *mut usize,
) -> HrStatus {
    // SAFETY: the caller's handle is ours; it lends `arg_count` arguments and `capacity` places until this returns.
    let (desk, args, results) = unsafe {
        let args = if arg_count == 0 { &[] } else { std::slice::from_raw_parts(args, arg_count) };
        let results =
            if capacity == 0 { &mut [] } else { std::slice::from_raw_parts_mut(results, capacity) };
        (Desk::of(host), args, results)
    };
    desk.answer(|context| {
        let given = SCRATCH.with_borrow_mut(|scratch| scratch.call(context, op, args, results))?;
        // SAFETY: the caller gives a place for one number.
        unsafe { count.write(given) };
        Ok::<_, String>(())
    })
}

impl Scratch {
    fn call(
        &mut self,
        context: &Context,
        op: HrOp,
        args: &[HrArg],
        results: &mut [HrArg],
    ) -> Result<usize, String> {
        let found = FOUND.read().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(op.0).ok().and_then(|number| number.checked_sub(1));
        let op = index
            .and_then(|index| found.as_ref()?.ops.get(index))
            .ok_or("no such operator was found")?;
        {
            let arena = context.arena.borrow();
            self.lay_out(args, &arena)?;
            op.call(&self.args, &mut self.returns).map_err(|e| e.to_string())?;
            self.args.clear();
        }
        self.give(&mut context.arena.borrow_mut(), results)
    }

    /// The arguments as libtorch's shim takes them.
    fn lay_out(&mut self, args: &[HrArg], arena: &Arena) -> Result<(), String> {
        self.args.clear();
        self.tensors.clear();
        // Pointers into `tensors` are taken below, so it must not grow in between.
        self.tensors
            .reserve(args.iter().filter(|arg| arg.kind == ARG_TENSORS).map(|arg| arg.len).sum());
        for arg in args {
            let value = match arg.kind {
                ARG_NONE => RawValue::NONE,
                ARG_TENSOR => {
                    #[expect(
                        clippy::cast_sign_loss,
                        reason = "a handle is 64 bits, whatever they are called"
                    )]
                    let handle = HrTensor(arg.int as u64);
                    RawValue {
                        tag: tag::TENSOR,
                        pointer: pointer(handle, arena)?.cast(),
                        ..RawValue::NONE
                    }
                }
                ARG_TENSORS => self.lay_out_list(arg, arena)?,
                ARG_FLOAT => RawValue { tag: tag::F64, real: arg.float_, ..RawValue::NONE },
                ARG_INT => RawValue { tag: tag::I64, integer: arg.int, ..RawValue::NONE },
                ARG_BOOL => RawValue { tag: tag::BOOL, integer: arg.int, ..RawValue::NONE },
                ARG_TEXT => row(tag::STR, arg),
                ARG_INTS => row(tag::INTS, arg),
                ARG_FLOATS => row(tag::FLOATS, arg),
                kind => return Err(format!("this host knows no argument of kind {kind}")),
            };
            // SAFETY: every pointer leads to a tensor of the arena, or to memory that the caller lends; `call` keeps
            // the arena borrowed and clears the arguments before either is gone.
            self.args.push(unsafe { Arg::from_raw(value) });
        }
        Ok(())
    }

    fn lay_out_list(&mut self, arg: &HrArg, arena: &Arena) -> Result<RawValue, String> {
        let first = self.tensors.len();
        for i in 0..arg.len {
            // SAFETY: the caller lends `len` handles until it returns.
            let handle = unsafe { arg.ptr.cast::<HrTensor>().add(i).read() };
            self.tensors.push(pointer(handle, arena)?);
        }
        Ok(RawValue {
            tag: tag::TENSORS,
            pointer: self.tensors[first..].as_mut_ptr().cast(),
            length: i64::try_from(arg.len).unwrap_or(i64::MAX),
            ..RawValue::NONE
        })
    }

    /// Hands the results over; tensors get handles that the caller owns.
    fn give(&mut self, arena: &mut Arena, results: &mut [HrArg]) -> Result<usize, String> {
        self.handles.clear();
        let count = self.returns.len().min(results.len());
        let mut lists = 0;
        for (index, result) in results.iter_mut().enumerate().take(count) {
            *result = match self.returns.take(index) {
                Return::None => HrArg::NONE,
                Return::Tensor(tensor) => tensor_result(arena.insert(tensor, Lease::Owned)),
                Return::F64(number) => HrArg { kind: ARG_FLOAT, float_: number, ..HrArg::NONE },
                Return::I64(number) => HrArg { kind: ARG_INT, int: number, ..HrArg::NONE },
                Return::Bool(truth) => HrArg { kind: ARG_BOOL, int: truth.into(), ..HrArg::NONE },
                Return::List(list) => {
                    lists += 1;
                    self.handles
                        .extend(list.iter().map(|tensor| arena.insert(tensor, Lease::Owned)));
                    HrArg { kind: ARG_TENSORS, len: list.len(), ..HrArg::NONE }
                }
            };
        }
        if lists > 1 {
            return Err(
                "an operator that returns several lists cannot be called from a plugin".to_owned()
            );
        }
        if let Some(list) = results.iter_mut().take(count).find(|result| result.kind == ARG_TENSORS)
        {
            list.ptr = self.handles.as_ptr().cast();
        }
        Ok(count)
    }
}

fn pointer(handle: HrTensor, arena: &Arena) -> Result<*mut torch_sys::C_tensor, String> {
    arena
        .tensor(handle)
        .map(|tensor: &Tensor| tensor.as_ptr().cast_mut())
        .map_err(|e| e.to_string())
}

fn row(tag: i32, arg: &HrArg) -> RawValue {
    let length = i64::try_from(arg.len).unwrap_or(i64::MAX);
    RawValue { tag, pointer: arg.ptr.cast_mut(), length, ..RawValue::NONE }
}

#[expect(clippy::cast_possible_wrap, reason = "a handle is 64 bits, whatever they are called")]
fn tensor_result(handle: HrTensor) -> HrArg {
    HrArg { kind: ARG_TENSOR, int: handle.0 as i64, ..HrArg::NONE }
}

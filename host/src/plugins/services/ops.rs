//! Calls of any libtorch operator by plugins: converts handles to tensors and results to handles.

use super::endpoint::Endpoint;
use super::rows::Places;
use super::service::{lent, lent_mut, service};
use crate::context::{Arena, Context, Lease, RunParts};
use crate::torch::{self, Arg, Effects, Op, Return, Returns, storage_of};
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
struct OpCache {
    ops: Vec<OpEntry>,
    names: HashMap<String, HrOp>,
}

struct OpEntry {
    op: Op,
    name: String,
    // It handles lists of tensors index by index, so an index can be left out.
    is_foreach: bool,
    effects: Effects,
}

static FOUND: RwLock<Option<OpCache>> = RwLock::new(None);

thread_local! {
    // Room for one call, kept so that a steady state allocates nothing.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

#[derive(Default)]
struct Scratch {
    args: Vec<Arg<'static>>,
    tensors: Vec<*mut torch_sys::C_tensor>,
    // Numbers of 64 bits, whole or not.
    numbers: Vec<u64>,
    places: Places,
    returns: Returns,
    handles: Vec<HrTensor>,
}

pub(super) unsafe extern "C" fn find(host: *mut c_void, name: HrStr, out: *mut HrOp) -> HrStatus {
    service!(host, text(name), out(out), |_| {
        let mut found = FOUND.write().unwrap_or_else(PoisonError::into_inner);
        let found = found.get_or_insert_default();
        if let Some(op) = found.names.get(name.as_ref()) {
            return Ok(*op);
        }
        let is_foreach = name.starts_with("aten::_foreach_");
        let op = Op::find(&name)?;
        let (name_kept, effects) = (name.to_string(), op.effects());
        found.ops.push(OpEntry { op, name: name_kept, is_foreach, effects });
        let op = HrOp(found.ops.len() as u64);
        found.names.insert(name.into_owned(), op);
        Ok(op)
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
    service!(host, out(count), |context, endpoint| {
        // SAFETY: the caller lends `arg_count` arguments and `capacity` places until this returns.
        let (args, results) = unsafe { (lent(args, arg_count), lent_mut(results, capacity)) };
        Ok(SCRATCH
            .with_borrow_mut(|scratch| scratch.call((context, endpoint), op, args, results))?)
    })
}

impl Scratch {
    fn call(
        &mut self,
        (context, endpoint): (&Context, &Endpoint),
        op: HrOp,
        args: &[HrArg],
        results: &mut [HrArg],
    ) -> Result<usize, String> {
        let found = FOUND.read().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(op.0).ok().and_then(|number| number.checked_sub(1));
        let OpEntry { op, name, is_foreach, effects } = index
            .and_then(|index| found.as_ref()?.ops.get(index))
            .ok_or("no such operator was found")?;
        self.places.clear();
        if *is_foreach {
            // SAFETY: the caller lends every row until this returns.
            unsafe { self.places.mark(args) };
            if self.places.is_bare() {
                return Ok(self.give_nothing(op.returns(), results));
            }
        }
        let part = {
            let arena = context.arena.borrow();
            self.lay_out(args, &arena)?;
            // SAFETY: as above.
            unsafe { check_writes(endpoint, &arena, name, *effects, args) }?;
            let called = op.call(&self.args, &mut self.returns);
            self.args.clear();
            called.map_err(|error| refused(name, args, &arena, &error.to_string()))?;
            // SAFETY: as above.
            unsafe { shared_part(&arena, *effects, args) }
        };
        let given = self.give(&mut context.arena.borrow_mut(), part, results);
        // Results that the caller has no room for are dropped now, not at the next call.
        self.returns.clear();
        given
    }

    /// The arguments as libtorch's shim takes them.
    fn lay_out(&mut self, args: &[HrArg], arena: &Arena) -> Result<(), String> {
        self.args.clear();
        self.tensors.clear();
        self.numbers.clear();
        // Pointers into both are taken below, so they must not grow in between.
        let room = |kinds: &[u32]| {
            args.iter().filter(|arg| kinds.contains(&arg.kind)).map(|arg| arg.len).sum()
        };
        self.tensors.reserve(room(&[ARG_TENSORS]));
        self.numbers.reserve(room(&[ARG_INTS, ARG_FLOATS]));
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
                ARG_INTS => self.lay_out_numbers(tag::INTS, arg),
                ARG_FLOATS => self.lay_out_numbers(tag::FLOATS, arg),
                kind => return Err(format!("this host does not support arguments of kind {kind}")),
            };
            // SAFETY: every pointer leads to a tensor of the arena, or to memory that the caller lends; `call` keeps
            // the arena borrowed and clears the arguments before either is gone.
            self.args.push(unsafe { Arg::from_raw(value) });
        }
        Ok(())
    }

    fn lay_out_list(&mut self, arg: &HrArg, arena: &Arena) -> Result<RawValue, String> {
        let first = self.tensors.len();
        for i in (0..arg.len).filter(|place| self.places.has(*place)) {
            // SAFETY: the caller lends `len` handles until it returns.
            let handle = unsafe { arg.ptr.cast::<HrTensor>().add(i).read() };
            self.tensors.push(pointer(handle, arena)?);
        }
        Ok(RawValue {
            tag: tag::TENSORS,
            pointer: self.tensors[first..].as_mut_ptr().cast(),
            length: length_of(&self.tensors[first..]),
            ..RawValue::NONE
        })
    }

    /// A list of numbers; if there is one per tensor, without those of absent tensors.
    fn lay_out_numbers(&mut self, tag: i32, arg: &HrArg) -> RawValue {
        if !self.places.thin(arg.len) {
            return row(tag, arg);
        }
        let first = self.numbers.len();
        for i in (0..arg.len).filter(|place| self.places.has(*place)) {
            // SAFETY: the caller lends `len` numbers of 64 bits until it returns.
            self.numbers.push(unsafe { arg.ptr.cast::<u64>().add(i).read() });
        }
        RawValue {
            tag,
            pointer: self.numbers[first..].as_mut_ptr().cast(),
            length: length_of(&self.numbers[first..]),
            ..RawValue::NONE
        }
    }

    /// The result of a call over no tensor: a list of absent ones for each result.
    fn give_nothing(&mut self, returns: usize, results: &mut [HrArg]) -> usize {
        self.handles.clear();
        self.handles.resize(self.places.len(), HrTensor::NONE);
        let count = returns.min(results.len());
        let (ptr, len) = (self.handles.as_ptr().cast(), self.handles.len());
        results[..count].fill(HrArg { kind: ARG_TENSORS, ptr, len, ..HrArg::NONE });
        count
    }

    /// Hands the results over; tensors get handles that the caller owns, and belong to what they share memory with.
    fn give(
        &mut self,
        arena: &mut Arena,
        part: RunParts,
        results: &mut [HrArg],
    ) -> Result<usize, String> {
        self.handles.clear();
        let count = self.returns.len().min(results.len());
        let mut lists = 0;
        for (index, result) in results.iter_mut().enumerate().take(count) {
            *result = match self.returns.take(index) {
                Return::None => HrArg::NONE,
                Return::Tensor(tensor) => {
                    tensor_result(arena.insert_part(tensor, Lease::Owned, part))
                }
                Return::F64(number) => HrArg { kind: ARG_FLOAT, float_: number, ..HrArg::NONE },
                Return::I64(number) => HrArg { kind: ARG_INT, int: number, ..HrArg::NONE },
                Return::Bool(truth) => HrArg { kind: ARG_BOOL, int: truth.into(), ..HrArg::NONE },
                Return::List(list) => {
                    lists += 1;
                    let mut given =
                        list.iter().map(|tensor| arena.insert_part(tensor, Lease::Owned, part));
                    if self.places.thin(self.places.len()) {
                        let places = (0..self.places.len()).map(|place| self.places.has(place));
                        let handle = |has| if has { given.next() } else { None };
                        self.handles.extend(
                            places.map(handle).map(|handle| handle.unwrap_or(HrTensor::NONE)),
                        );
                    } else {
                        self.handles.extend(given);
                    }
                    HrArg { kind: ARG_TENSORS, len: self.handles.len(), ..HrArg::NONE }
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

/// The tensors of the arguments whose bit is set.
///
/// # Safety
/// The caller lends every row until the last of them was read.
unsafe fn tensors_of(args: &[HrArg], bits: u64) -> impl Iterator<Item = HrTensor> {
    let chosen = args.iter().take(64).enumerate().filter(move |(at, _)| bits >> at & 1 == 1);
    chosen.flat_map(|(_, arg)| {
        #[expect(clippy::cast_sign_loss, reason = "a handle is 64 bits, whatever they are called")]
        let one = (arg.kind == ARG_TENSOR).then_some(HrTensor(arg.int as u64));
        let row = if arg.kind == ARG_TENSORS { arg.len } else { 0 };
        // SAFETY: by the contract.
        let row = (0..row).map(|at| unsafe { arg.ptr.cast::<HrTensor>().add(at).read() });
        one.into_iter().chain(row).filter(|handle| *handle != HrTensor::NONE)
    })
}

/// Refuses an operator that writes to a part of the run that the hook does not declare, gives the run's tensors other memory, or moves memory
/// that the hook has borrowed.
///
/// # Safety
/// The caller lends every row until this returns.
unsafe fn check_writes(
    endpoint: &Endpoint,
    arena: &Arena,
    name: &str,
    effects: Effects,
    args: &[HrArg],
) -> Result<(), String> {
    if effects.written == 0 {
        return Ok(());
    }
    // SAFETY: by the contract.
    for handle in unsafe { tensors_of(args, effects.written) } {
        let (part, tensor) = (
            arena.part(handle).map_err(|e| e.to_string())?,
            arena.tensor(handle).map_err(|e| e.to_string())?,
        );
        endpoint.check_declared(part, || format!("`{name}`"))?;
        if effects.moves {
            endpoint.check_moves(name, part, storage_of(tensor))?;
        }
    }
    Ok(())
}

/// The part of the run that the results of an operator belong to: that of the arguments whose memory they may share.
///
/// # Safety
/// The caller lends every row until this returns.
unsafe fn shared_part(arena: &Arena, effects: Effects, args: &[HrArg]) -> RunParts {
    if effects.shared == 0 {
        return RunParts::NONE;
    }
    // SAFETY: by the contract.
    let shared = unsafe { tensors_of(args, effects.shared) };
    shared.fold(RunParts::NONE, |all, handle| all | arena.part(handle).unwrap_or(RunParts::NONE))
}

/// libtorch's error message, with the operator and the shapes.
fn refused(name: &str, args: &[HrArg], arena: &Arena, why: &str) -> String {
    if why.contains(name) {
        return why.to_owned();
    }
    #[expect(clippy::cast_sign_loss, reason = "a handle is 64 bits, whatever they are called")]
    let tensors = args.iter().filter(|arg| arg.kind == ARG_TENSOR).map(|arg| arg.int as u64);
    let shapes: Vec<_> = tensors
        .filter_map(|handle| arena.tensor(HrTensor(handle)).ok())
        .map(|tensor| format!("{:?}", tensor.size()))
        .collect();
    let of = if shapes.is_empty() { "" } else { " of " };
    format!("{name}{of}{}: {why}", shapes.join(" and "))
}

fn pointer(handle: HrTensor, arena: &Arena) -> Result<*mut torch_sys::C_tensor, String> {
    arena
        .tensor(handle)
        .map(|tensor: &Tensor| tensor.as_ptr().cast_mut())
        .map_err(|e| e.to_string())
}

fn length_of<T>(row: &[T]) -> i64 {
    i64::try_from(row.len()).unwrap_or(i64::MAX)
}

fn row(tag: i32, arg: &HrArg) -> RawValue {
    let length = i64::try_from(arg.len).unwrap_or(i64::MAX);
    RawValue { tag, pointer: arg.ptr.cast_mut(), length, ..RawValue::NONE }
}

#[expect(clippy::cast_possible_wrap, reason = "a handle is 64 bits, whatever they are called")]
fn tensor_result(handle: HrTensor) -> HrArg {
    HrArg { kind: ARG_TENSOR, int: handle.0 as i64, ..HrArg::NONE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::tensor::ops;

    #[test]
    fn libtorch_has_every_operator_behind_a_tensor_s_methods_with_enough_arguments() {
        for (op, given) in ops::ALL {
            let found = Op::find(op.name()).unwrap_or_else(|error| panic!("{error}"));
            assert!(found.arguments() >= *given, "{}: {given} arguments", op.name());
        }
    }
}

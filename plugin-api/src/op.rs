//! Operators of libtorch by name: looked up once, then called with arguments in the order of their schema.

use crate::abi::{
    ARG_BOOL, ARG_FLOAT, ARG_FLOATS, ARG_INT, ARG_INTS, ARG_TENSOR, ARG_TENSORS, ARG_TEXT, Host,
    HrArg, HrOp, HrTensor,
};
use crate::error::Result;
use crate::tensor::{AsTensors, Tensor, TensorList};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// An argument of an operator: a tensor, a list of tensors, a number, a `bool`, a string (a dtype such as
/// `"float32"`, a device such as `"cpu"`), a slice of numbers, or [`Arg::NONE`]. It borrows what it was made
/// from.
///
/// | in the operator's schema | from |
/// |---|---|
/// | `Tensor` | `&Tensor` |
/// | `Tensor[]`, `Tensor?[]` | [`Arg::list`] |
/// | `Scalar`, `float` | `f64` or `i64` |
/// | `int` | `i64` |
/// | `bool` | `bool` |
/// | `int[]`, `bool[]` | `&[i64]`; for a fixed length such as `int[2]` also one `i64` |
/// | `float[]`, `Scalar[]` | `&[f64]` |
/// | `ScalarType` | `"float32"`, `"float64"`, `"float16"`, `"bfloat16"`, `"int64"`, `"int32"`, `"uint8"`, `"bool"` and the like |
/// | `Device` | `"cpu"`, `"cuda:0"` |
/// | `Layout` | `"strided"`, `"sparse_coo"` |
/// | `MemoryFormat` | `"contiguous"`, `"preserve"`, `"channels_last"`, `"channels_last_3d"` |
/// | any of them with `?` | [`Arg::NONE`] too |
///
/// An integer is accepted for a float, but not the other way round. In a list of tensors an absent one is an
/// error, except for operators whose names begin with `aten::_foreach_`, which skip it.
#[derive(Clone, Copy)]
pub struct Arg<'a> {
    raw: HrArg,
    lent: PhantomData<&'a ()>,
}

impl<'a> Arg<'a> {
    /// No value, for an optional argument.
    pub const NONE: Self = Self { raw: HrArg::NONE, lent: PhantomData };

    fn new(raw: HrArg) -> Self {
        Self { raw, lent: PhantomData }
    }

    #[expect(clippy::cast_possible_wrap, reason = "a handle is 64 bits, whatever they are called")]
    pub(crate) fn handle(id: HrTensor) -> Self {
        Self::new(HrArg { kind: ARG_TENSOR, int: id.0 as i64, ..HrArg::NONE })
    }

    fn row<T>(kind: u32, row: &'a [T]) -> Self {
        Self::new(HrArg { kind, ptr: row.as_ptr().cast(), len: row.len(), ..HrArg::NONE })
    }

    pub(crate) fn handles(ids: &'a [HrTensor]) -> Self {
        Self::row(ARG_TENSORS, ids)
    }

    /// A list of tensors. Not a copy.
    pub fn list(tensors: &'a impl AsTensors) -> Self {
        Self::handles(tensors.ids())
    }
}

impl<'a> From<&'a Tensor> for Arg<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::handle(tensor.id())
    }
}

impl From<f64> for Arg<'_> {
    fn from(number: f64) -> Self {
        Self::new(HrArg { kind: ARG_FLOAT, float_: number, ..HrArg::NONE })
    }
}

impl From<i64> for Arg<'_> {
    fn from(number: i64) -> Self {
        Self::new(HrArg { kind: ARG_INT, int: number, ..HrArg::NONE })
    }
}

impl From<bool> for Arg<'_> {
    fn from(truth: bool) -> Self {
        Self::new(HrArg { kind: ARG_BOOL, int: i64::from(truth), ..HrArg::NONE })
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Self {
        Self::row(ARG_TEXT, text.as_bytes())
    }
}

impl<'a> From<&'a [i64]> for Arg<'a> {
    fn from(numbers: &'a [i64]) -> Self {
        Self::row(ARG_INTS, numbers)
    }
}

impl<'a> From<&'a [f64]> for Arg<'a> {
    fn from(numbers: &'a [f64]) -> Self {
        Self::row(ARG_FLOATS, numbers)
    }
}

/// An operator that was looked up, valid for the life of the process. [`CachedOp`] looks it up by itself.
#[derive(Clone, Copy)]
pub struct Op {
    host: Host,
    op: HrOp,
}

impl Op {
    pub(crate) fn find(host: Host, name: &str) -> Result<Self> {
        Ok(Self { host, op: host.op_find(name)? })
    }

    /// Calls the operator and returns its results. Trailing arguments with defaults can be omitted.
    ///
    /// Costs what the operator costs, and a conversion of the arguments that allocates nothing on the Rust
    /// side. Does not wait for the device unless the operator does. A result that shares memory with a tensor
    /// of the run [counts as that one](Tensor#what-belongs-to-the-run).
    ///
    /// # Errors
    /// An argument has the wrong kind, or libtorch returned an error: the message names the operator, the
    /// shapes and the reason. There are more than 16 arguments. The operator writes to a tensor of the run
    /// that `mutates` does not cover, resizes one or replaces its memory, or moves memory that is borrowed by
    /// [`Tensor::view`]. It returns more than one list.
    pub fn call(&self, args: &[Arg<'_>]) -> Result<Returned> {
        let mut results = [HrArg::NONE; 4];
        let count = self.call_raw(args, &mut results)?;
        Returned::take(self.host, results, count)
    }

    /// Calls an in-place operator and discards its results. No handle is made for them.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub fn run(&self, args: &[Arg<'_>]) -> Result<()> {
        self.call_raw(args, &mut []).map(drop)
    }

    fn call_raw(&self, args: &[Arg<'_>], results: &mut [HrArg]) -> Result<usize> {
        const MOST: usize = 16;
        crate::ensure!(
            args.len() <= MOST,
            "an operator takes at most {MOST} arguments, not {}",
            args.len()
        );
        let mut raw = [HrArg::NONE; MOST];
        for (slot, arg) in raw.iter_mut().zip(args) {
            *slot = arg.raw;
        }
        self.host.op_call(self.op, &raw[..args.len()], results)
    }
}

/// The results of an operator: up to four values, in order. Further ones are dropped.
///
/// Each method below takes the results it names and frees the others.
pub struct Returned {
    values: [Option<Output>; 4],
}

enum Output {
    Tensor(Tensor),
    Tensors(TensorList),
    Float(f64),
    Int(i64),
}

impl Returned {
    fn take(host: Host, raw: [HrArg; 4], count: usize) -> Result<Self> {
        let mut values = [None, None, None, None];
        for (value, arg) in values.iter_mut().zip(raw).take(count) {
            #[expect(
                clippy::cast_sign_loss,
                reason = "a handle is 64 bits, whatever they are called"
            )]
            let output = match arg.kind {
                ARG_TENSOR => Output::Tensor(Tensor::owned(host, HrTensor(arg.int as u64))),
                ARG_TENSORS => Output::Tensors(TensorList::owned(host, arg.handles())),
                ARG_FLOAT => Output::Float(arg.float_),
                ARG_INT | ARG_BOOL => Output::Int(arg.int),
                kind => crate::bail!("the operator returned a value of unknown kind {kind}"),
            };
            *value = Some(output);
        }
        Ok(Self { values })
    }

    /// Returns the first result, a tensor.
    ///
    /// # Errors
    /// It is not a tensor.
    pub fn tensor(self) -> Result<Tensor> {
        match self.values.into_iter().next().flatten() {
            Some(Output::Tensor(tensor)) => Ok(tensor),
            _ => crate::bail!("the operator did not return a tensor"),
        }
    }

    /// Returns the first result, a list of tensors. Allocates the list of handles.
    ///
    /// # Errors
    /// It is not a list of tensors.
    pub fn tensors(self) -> Result<TensorList> {
        match self.values.into_iter().next().flatten() {
            Some(Output::Tensors(list)) => Ok(list),
            _ => crate::bail!("the operator did not return a list of tensors"),
        }
    }

    /// Returns the first two results, both tensors.
    ///
    /// # Errors
    /// They are not two tensors.
    pub fn pair(self) -> Result<(Tensor, Tensor)> {
        match self.values {
            [Some(Output::Tensor(first)), Some(Output::Tensor(second)), ..] => Ok((first, second)),
            _ => crate::bail!("the operator did not return two tensors"),
        }
    }

    /// Returns all results, each a tensor: `topk` and `max` along a dimension return two. Allocates.
    ///
    /// # Errors
    /// A result is not a tensor.
    pub fn all_tensors(self) -> Result<Vec<Tensor>> {
        let tensor = |output| match output {
            Output::Tensor(tensor) => Ok(tensor),
            _ => crate::bail!("the operator returned a value that is not a tensor"),
        };
        self.values.into_iter().flatten().map(tensor).collect()
    }

    /// Returns the first result, a number. A boolean is 0 or 1, an integer beyond 2^53 is rounded.
    ///
    /// # Errors
    /// It is not a number.
    #[expect(clippy::cast_precision_loss, reason = "the author asked for a float")]
    pub fn number(self) -> Result<f64> {
        match self.values.into_iter().next().flatten() {
            Some(Output::Float(number)) => Ok(number),
            Some(Output::Int(number)) => Ok(number as f64),
            _ => crate::bail!("the operator did not return a number"),
        }
    }
}

/// An operator with a fixed name, which is looked up at its first call in the process. Make it a `static`.
///
/// A later call reads one number in place of the lookup. List it in `#[hook(ops = [OP])]`: then a libtorch
/// that lacks it is an error before training, not at the first call.
pub struct CachedOp {
    name: &'static str,
    // 0 until it was found: a found operator is never 0.
    found: AtomicU64,
}

/// The name of an operator: a [`CachedOp`] or a string, as `#[hook(ops = […])]` takes them.
pub trait OpName {
    /// Returns the name.
    fn op_name(&self) -> &'static str;
}

impl OpName for CachedOp {
    fn op_name(&self) -> &'static str {
        self.name
    }
}

impl OpName for &'static str {
    fn op_name(&self) -> &'static str {
        self
    }
}

impl CachedOp {
    /// An operator of this name, such as `aten::lerp_.Scalar`; nothing is looked up yet.
    pub const fn new(name: &'static str) -> Self {
        Self { name, found: AtomicU64::new(0) }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn call(&self, host: Host, args: &[Arg<'_>]) -> Result<Returned> {
        self.find(host)?.call(args)
    }

    pub(crate) fn run(&self, host: Host, args: &[Arg<'_>]) -> Result<()> {
        self.find(host)?.run(args)
    }

    fn find(&self, host: Host) -> Result<Op> {
        let mut op = HrOp(self.found.load(Ordering::Relaxed));
        if op.0 == 0 {
            op = host.op_find(self.name)?;
            self.found.store(op.0, Ordering::Relaxed);
        }
        Ok(Op { host, op })
    }
}

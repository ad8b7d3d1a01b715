//! Operators of libtorch by name: looked up once, then called with arguments in the order of their schema.

use crate::abi::{
    ARG_BOOL, ARG_FLOAT, ARG_FLOATS, ARG_INT, ARG_INTS, ARG_TENSOR, ARG_TENSORS, ARG_TEXT, Host,
    HrArg, HrOp, HrTensor,
};
use crate::error::Result;
use crate::tensor::{AsTensors, Tensor, TensorList};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// An argument of an operator: a tensor, a list of tensors, a number, a `bool`, a string (a dtype such as `"float32"`, a device such as
/// `"cpu"`), a slice of numbers, or [`Arg::NONE`]. It borrows what it was made from.
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

    /// A list of tensors.
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

/// An operator that was looked up.
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
    /// # Errors
    /// An argument has the wrong kind, or libtorch returned an error: the message names the operator, the shapes and the reason.
    pub fn call(&self, args: &[Arg<'_>]) -> Result<Returned> {
        let mut results = [HrArg::NONE; 4];
        let count = self.call_raw(args, &mut results)?;
        Returned::take(self.host, results, count)
    }

    /// Calls an in-place operator and discards its results.
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

/// The results of an operator: up to four values, in order.
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

    /// The first result, a tensor.
    ///
    /// # Errors
    /// It is not a tensor.
    pub fn tensor(self) -> Result<Tensor> {
        match self.values.into_iter().next().flatten() {
            Some(Output::Tensor(tensor)) => Ok(tensor),
            _ => crate::bail!("the operator did not return a tensor"),
        }
    }

    /// The first result, a list of tensors.
    ///
    /// # Errors
    /// It is not a list of tensors.
    pub fn tensors(self) -> Result<TensorList> {
        match self.values.into_iter().next().flatten() {
            Some(Output::Tensors(list)) => Ok(list),
            _ => crate::bail!("the operator did not return a list of tensors"),
        }
    }

    /// The first two results, both tensors.
    ///
    /// # Errors
    /// They are not two tensors.
    pub fn pair(self) -> Result<(Tensor, Tensor)> {
        match self.values {
            [Some(Output::Tensor(first)), Some(Output::Tensor(second)), ..] => Ok((first, second)),
            _ => crate::bail!("the operator did not return two tensors"),
        }
    }

    /// All results, each a tensor: `topk` and `max` along a dimension return two.
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

    /// The first result, a number.
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
pub struct CachedOp {
    name: &'static str,
    // 0 until it was found: a found operator is never 0.
    found: AtomicU64,
}

/// The name of an operator: a [`CachedOp`] or a string.
pub trait OpName {
    /// The name.
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
    /// An operator of this name; nothing is looked up yet.
    pub const fn new(name: &'static str) -> Self {
        Self { name, found: AtomicU64::new(0) }
    }

    /// The name.
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

//! Rows of tensors, borrowed or owned, with operations on all of them at once.

use super::{Tensor, ops};
use crate::abi::{DLTensor, Host, HrTensor};
use crate::error::Result;
use crate::op::{Arg, CachedOp};

static LERP: CachedOp = CachedOp::new("aten::_foreach_lerp_.Scalar");
static COPY: CachedOp = CachedOp::new("aten::_foreach_copy_");
static ZERO: CachedOp = CachedOp::new("aten::_foreach_zero_");
static MUL: CachedOp = CachedOp::new("aten::_foreach_mul_.Scalar");
static ADD: CachedOp = CachedOp::new("aten::_foreach_add_.List");
static SUB: CachedOp = CachedOp::new("aten::_foreach_sub_.List");
static NORMS: CachedOp = CachedOp::new("aten::_foreach_norm.Scalar");
static STACK: CachedOp = CachedOp::new("aten::stack");
static CLONE: CachedOp = CachedOp::new("aten::clone");

/// A copy of a tensor, through which no gradient flows whether gradients are being recorded or not.
pub(super) fn clone_one(host: Host, id: HrTensor) -> Result<Tensor> {
    let plain = ops::detach.call(host, &[Arg::handle(id)])?.tensor()?;
    CLONE.call(host, &[Arg::from(&plain)])?.tensor()
}

/// A borrowed row of tensors: the model's parameters, their gradients.
#[derive(Clone, Copy)]
pub struct Tensors<'a> {
    host: Host,
    ids: &'a [HrTensor],
}

impl<'a> Tensors<'a> {
    pub(crate) fn new(host: Host, ids: &'a [HrTensor]) -> Self {
        Self { host, ids }
    }
}

/// A list of tensors that is the hook's own. Empty until something is put into it.
#[derive(Default)]
pub struct TensorList {
    host: Option<Host>,
    ids: Vec<HrTensor>,
}

impl TensorList {
    pub(crate) fn owned(host: Host, ids: Vec<HrTensor>) -> Self {
        Self { host: Some(host), ids }
    }

    /// Becomes copies of `source`, unless it holds tensors already: those of a resumed run stay.
    pub fn init(&mut self, source: &impl AsTensors) -> Result<()> {
        if self.is_empty() {
            *self = source.clone_detached()?;
        }
        Ok(())
    }

    /// Takes a tensor in, after the others. One that is only borrowed is kept under a handle of its own.
    pub fn push(&mut self, tensor: Tensor) -> Result<()> {
        let tensor = if tensor.owned { tensor } else { tensor.keep()? };
        self.host = Some(tensor.host);
        self.ids.push(tensor.into_id());
        Ok(())
    }
}

impl Drop for TensorList {
    fn drop(&mut self) {
        if let Some(host) = self.host {
            host.release(&self.ids);
        }
    }
}

/// A row of tensors, with the operations that work on all of them in one crossing of the boundary. A place without a
/// tensor, such as the gradient of a frozen parameter, is passed over, and so is one whose counterpart is absent.
pub trait AsTensors {
    /// The handles.
    fn ids(&self) -> &[HrTensor];

    /// The host that keeps them; `None` for a list that nothing was put into.
    fn host(&self) -> Option<Host>;

    /// How many there are.
    fn len(&self) -> usize {
        self.ids().len()
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.ids().is_empty()
    }

    /// The tensor at `index`.
    fn at(&self, index: usize) -> Option<Tensor> {
        Some(Tensor::borrowed(self.host()?, *self.ids().get(index)?))
    }

    /// Each tensor in turn, borrowed.
    fn iter(&self) -> impl Iterator<Item = Tensor> {
        let host = self.host();
        self.ids().iter().filter_map(move |id| Some(Tensor::borrowed(host?, *id)))
    }

    /// Each tensor that is there, borrowed: without the gradients of frozen parameters.
    fn present(&self) -> impl Iterator<Item = Tensor> {
        self.iter().filter(|tensor| !tensor.is_absent())
    }

    /// Copies of all of them that no gradient flows into; an absent one stays absent.
    fn clone_detached(&self) -> Result<TensorList> {
        let Some(host) = self.host() else { return Ok(TensorList::default()) };
        let mut list = TensorList::owned(host, Vec::with_capacity(self.len()));
        for id in self.ids() {
            let is_absent = *id == HrTensor::NONE;
            list.ids.push(if is_absent { *id } else { clone_one(host, *id)?.into_id() });
        }
        Ok(list)
    }

    /// Moves each a part of the way towards its counterpart: `self + weight * (target - self)`.
    fn lerp_(&self, target: &impl AsTensors, weight: f64) -> Result<()> {
        self.pairwise(&LERP, target, Some(Arg::from(weight)))
    }

    /// Takes its counterpart's contents.
    fn copy_(&self, source: &impl AsTensors) -> Result<()> {
        self.pairwise(&COPY, source, None)
    }

    /// Adds its counterpart.
    fn add_(&self, other: &impl AsTensors) -> Result<()> {
        self.pairwise(&ADD, other, None)
    }

    /// Subtracts its counterpart.
    fn sub_(&self, other: &impl AsTensors) -> Result<()> {
        self.pairwise(&SUB, other, None)
    }

    /// Adds its counterpart times `alpha`.
    fn add_scaled_(&self, other: &impl AsTensors, alpha: f64) -> Result<()> {
        self.pairwise(&ADD, other, Some(Arg::from(alpha)))
    }

    /// Becomes zero.
    fn zero_(&self) -> Result<()> {
        let Some(host) = self.host() else { return Ok(()) };
        ZERO.call(host, &[Arg::handles(self.ids())]).map(drop)
    }

    /// Is multiplied by a number.
    fn mul_(&self, factor: f64) -> Result<()> {
        let Some(host) = self.host() else { return Ok(()) };
        MUL.call(host, &[Arg::handles(self.ids()), Arg::from(factor)]).map(drop)
    }

    /// The norm of all of them together, as a tensor: nothing waits until its `item` is asked for. 0 where none is
    /// present.
    ///
    /// # Errors
    /// A [`TensorList`] that nothing was put into has no norm.
    fn norm(&self) -> Result<Tensor> {
        let Some(host) = self.host() else { crate::bail!("an empty list has no norm") };
        let present: Vec<_> =
            self.ids().iter().copied().filter(|id| *id != HrTensor::NONE).collect();
        if present.is_empty() {
            return Ok(Tensor::owned(host, host.from_view(&DLTensor::lend(&[0.0_f32], &[])?)?));
        }
        let norms = NORMS.call(host, &[Arg::handles(&present)])?.tensors()?;
        let stacked = STACK.call(host, &[Arg::handles(norms.ids())])?.tensor()?;
        stacked.norm()
    }

    /// Exchanges the contents with its counterpart, through one temporary copy.
    fn swap_(&self, other: &impl AsTensors) -> Result<()> {
        let own = self.clone_detached()?;
        self.copy_(other)?;
        other.copy_(&own)
    }

    #[doc(hidden)]
    fn pairwise(
        &self,
        op: &CachedOp,
        other: &impl AsTensors,
        extra: Option<Arg<'_>>,
    ) -> Result<()> {
        let (mine, theirs) = (self.len(), other.len());
        crate::ensure!(mine == theirs, "{}: {mine} tensors against {theirs}", op.name());
        let Some(host) = self.host() else { return Ok(()) };
        // The host passes over places that are absent on either side.
        let pair =
            [Arg::handles(self.ids()), Arg::handles(other.ids()), extra.unwrap_or(Arg::NONE)];
        let used = if extra.is_some() { 3 } else { 2 };
        op.call(host, &pair[..used]).map(drop)
    }
}

impl AsTensors for Tensors<'_> {
    fn ids(&self) -> &[HrTensor] {
        self.ids
    }
    fn host(&self) -> Option<Host> {
        Some(self.host)
    }
}

impl AsTensors for TensorList {
    fn ids(&self) -> &[HrTensor] {
        &self.ids
    }
    fn host(&self) -> Option<Host> {
        self.host
    }
}

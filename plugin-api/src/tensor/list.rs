//! Lists of tensors, borrowed or owned, with operations on all of them at once.

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
static CAT: CachedOp = CachedOp::new("aten::cat");
static CLONE: CachedOp = CachedOp::new("aten::clone");

/// A copy of a tensor without gradients, whether they are being recorded or not.
pub(super) fn clone_one(host: Host, id: HrTensor) -> Result<Tensor> {
    let plain = ops::detach.call(host, &[Arg::handle(id)])?.tensor()?;
    CLONE.call(host, &[Arg::from(&plain)])?.tensor()
}

/// A borrowed list of tensors: the parameters of the model, their gradients, its buffers.
///
/// Copying it copies no tensor. It borrows the trainer, so that nothing can change the list meanwhile; the
/// handles in it are valid for longer, see [`Trainer::params`](crate::Trainer::params) and
/// [`Trainer::grads`](crate::Trainer::grads).
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

/// An owned list of tensors, empty at first. Its tensors are freed when it is dropped.
///
/// As a field with `#[param(state)]` it is saved in checkpoints and restored by a resume, on the CPU;
/// [`init`](Self::init) moves it to the device of the run.
#[derive(Default)]
pub struct TensorList {
    host: Option<Host>,
    ids: Vec<HrTensor>,
}

impl TensorList {
    pub(crate) fn owned(host: Host, ids: Vec<HrTensor>) -> Self {
        Self { host: Some(host), ids }
    }

    /// Sets the list to copies of `source` if it is empty; tensors restored from a checkpoint are kept, and
    /// moved to the devices of those of `source`.
    ///
    /// Call it in `before_train`. Only whether the list is empty counts: compare lengths if the model may
    /// have changed.
    ///
    /// # Errors
    /// As for [`AsTensors::clone_detached`].
    pub fn init(&mut self, source: &impl AsTensors) -> Result<()> {
        if self.is_empty() {
            *self = source.clone_detached()?;
            return Ok(());
        }
        self.move_to(source)
    }

    /// Moves each tensor to the device of its counterpart; one that is there already is not copied.
    pub(crate) fn move_to(&mut self, like: &impl AsTensors) -> Result<()> {
        let Some(host) = self.host else { return Ok(()) };
        for (id, like) in self.ids.iter_mut().zip(like.iter()) {
            if *id != HrTensor::NONE && !like.is_absent() {
                let moved = Tensor::borrowed(host, *id).to_device(&like.device()?)?;
                host.release(&[std::mem::replace(id, moved.into_id())]);
            }
        }
        Ok(())
    }

    /// Appends a tensor. A borrowed one, such as a parameter, is kept with a handle that stays valid; it is
    /// not copied.
    ///
    /// # Errors
    /// The handle is no longer valid, or there is no tensor.
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

/// A list of tensors, with operations on all of them in one call to the host.
///
/// An absent tensor, such as the gradient of a frozen parameter, is skipped, and so is one whose counterpart
/// is absent. Operations on two lists return an error if their lengths differ, or if the shapes of a pair do
/// not match. None of them waits for the device.
///
/// One call for all tensors is faster than one per tensor, the more so on a GPU, where libtorch fuses them: a
/// model has hundreds. Operations in place change the tensors themselves: those of
/// [`Trainer::params`](crate::Trainer::params) need `mutates = "params"`, those of
/// [`Trainer::grads`](crate::Trainer::grads) `"grads"`. On a list that is empty or whose tensors are all
/// absent they do nothing.
pub trait AsTensors {
    /// Returns the handles.
    fn ids(&self) -> &[HrTensor];

    /// Returns the host that keeps the tensors; `None` for a list that was never filled.
    fn host(&self) -> Option<Host>;

    /// Returns the number of tensors, including absent ones.
    fn len(&self) -> usize {
        self.ids().len()
    }

    /// Returns whether the list is empty.
    fn is_empty(&self) -> bool {
        self.ids().is_empty()
    }

    /// Returns the tensor at `index`, borrowed; `None` beyond the end. It may be [absent](Tensor::is_absent).
    ///
    /// The handle is valid as long as the list's own. Not a call to the host.
    fn at(&self, index: usize) -> Option<Tensor> {
        Some(Tensor::borrowed(self.host()?, *self.ids().get(index)?))
    }

    /// Returns all tensors in order, borrowed, absent ones included. Not a call to the host.
    fn iter(&self) -> impl Iterator<Item = Tensor> {
        let host = self.host();
        self.ids().iter().filter_map(move |id| Some(Tensor::borrowed(host?, *id)))
    }

    /// Returns all tensors that are not absent, borrowed.
    fn present(&self) -> impl Iterator<Item = Tensor> {
        self.iter().filter(|tensor| !tensor.is_absent())
    }

    /// Returns copies of all tensors, without gradients; absent ones stay absent. One copy per tensor.
    ///
    /// Two operators per tensor, and as much memory as the list.
    ///
    /// # Errors
    /// A handle is no longer valid, or there is not enough memory.
    fn clone_detached(&self) -> Result<TensorList> {
        let Some(host) = self.host() else { return Ok(TensorList::default()) };
        let mut list = TensorList::owned(host, Vec::with_capacity(self.len()));
        for id in self.ids() {
            let is_absent = *id == HrTensor::NONE;
            list.ids.push(if is_absent { *id } else { clone_one(host, *id)?.into_id() });
        }
        Ok(list)
    }

    /// Interpolates each tensor in place: `self + weight * (target - self)`.
    fn lerp_(&self, target: &impl AsTensors, weight: f64) -> Result<()> {
        self.pairwise(&LERP, target, Some(Arg::from(weight)))
    }

    /// Copies the contents of each counterpart, converted to the dtype and moved to the device of its tensor.
    fn copy_(&self, source: &impl AsTensors) -> Result<()> {
        self.pairwise(&COPY, source, None)
    }

    /// Adds each counterpart in place.
    fn add_(&self, other: &impl AsTensors) -> Result<()> {
        self.pairwise(&ADD, other, None)
    }

    /// Subtracts each counterpart in place.
    fn sub_(&self, other: &impl AsTensors) -> Result<()> {
        self.pairwise(&SUB, other, None)
    }

    /// Adds each counterpart times `alpha` in place.
    fn add_scaled_(&self, other: &impl AsTensors, alpha: f64) -> Result<()> {
        self.pairwise(&ADD, other, Some(Arg::from(alpha)))
    }

    /// Sets all elements to zero.
    fn zero_(&self) -> Result<()> {
        let Some(host) = self.host() else { return Ok(()) };
        ZERO.call(host, &[Arg::handles(self.ids())]).map(drop)
    }

    /// Multiplies all elements by `factor` in place.
    fn mul_(&self, factor: f64) -> Result<()> {
        let Some(host) = self.host() else { return Ok(()) };
        MUL.call(host, &[Arg::handles(self.ids()), Arg::from(factor)]).map(drop)
    }

    /// Returns the 2-norm over all tensors together, as a scalar tensor; 0 if all are absent. Only reading
    /// its value with `item` waits for the device.
    ///
    /// # Errors
    /// A [`TensorList`] that was never filled has no norm.
    fn norm(&self) -> Result<Tensor> {
        let Some(host) = self.host() else { crate::bail!("an empty list has no norm") };
        let present = self.present_ids();
        if present.is_empty() {
            return Ok(Tensor::owned(host, host.from_view(&DLTensor::lend(&[0.0_f32], &[])?)?));
        }
        let norms = NORMS.call(host, &[Arg::handles(&present)])?.tensors()?;
        let stacked = STACK.call(host, &[Arg::handles(norms.ids())])?.tensor()?;
        stacked.norm()
    }

    /// Concatenates all tensors along an existing dimension, without absent ones: `x.split(8, 0)?.cat(0)?` is
    /// `x`. Copies them into a new tensor.
    ///
    /// # Errors
    /// The list is empty, or sizes differ in another dimension.
    fn cat(&self, dim: i64) -> Result<Tensor> {
        self.joined(&CAT, dim)
    }

    /// Concatenates all tensors along a new dimension, without absent ones. Copies them into a new tensor.
    ///
    /// # Errors
    /// The list is empty, or the shapes differ.
    fn stack(&self, dim: i64) -> Result<Tensor> {
        self.joined(&STACK, dim)
    }

    #[doc(hidden)]
    fn present_ids(&self) -> Vec<HrTensor> {
        self.ids().iter().copied().filter(|id| *id != HrTensor::NONE).collect()
    }

    #[doc(hidden)]
    fn joined(&self, op: &CachedOp, dim: i64) -> Result<Tensor> {
        let ids = self.present_ids();
        match self.host() {
            Some(host) if !ids.is_empty() => {
                op.call(host, &[Arg::handles(&ids), Arg::from(dim)])?.tensor()
            }
            _ => crate::bail!("{}: no tensors", op.name()),
        }
    }

    /// Swaps the contents with each counterpart, with a temporary copy of the list.
    ///
    /// Three copies of as much memory as the list has. It writes to both lists: if one of them belongs to the
    /// run, declare it in `mutates`.
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
        crate::ensure!(
            mine == theirs,
            "{}: lists of different lengths, {mine} and {theirs}",
            op.name()
        );
        let Some(host) = self.host() else { return Ok(()) };
        // The host skips tensors that are absent in either list.
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

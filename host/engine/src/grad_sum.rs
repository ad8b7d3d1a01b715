//! Sums the gradients of a pipeline's chunk over the ranks that have a copy of it, while other chunks are still running.

use tch::Tensor;

use super::error::{EngineError, Result};
use super::named_tensor::NamedTensor;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::dist::{Group, Pending, Reduction};
use hookrack_torch::shape::number;
use hookrack_torch::{TensorList, foreach};

/// Sums the gradients of some parameters in buckets.
#[derive(Debug)]
pub(super) struct GradSum {
    buckets: Vec<Bucket>,
}

/// Parameters whose gradients are sent as one tensor.
#[derive(Debug)]
struct Bucket {
    names: Vec<String>,
    params: TensorList,
    // All gradients in one tensor, and a view of it for each gradient.
    flat: Tensor,
    views: TensorList,
    grads: TensorList,
    pending: Option<Pending>,
}

impl GradSum {
    /// For the trained parameters, in buckets of at most `cap` bytes; a larger parameter has its own bucket.
    pub(super) fn new(params: &[NamedTensor], cap: usize) -> Result<Self> {
        let mut buckets = Vec::new();
        let (mut open, mut bytes) = (Vec::new(), 0);
        for param in params.iter().filter(|param| param.tensor.requires_grad()) {
            let size = param.tensor.numel() * param.tensor.kind().elt_size_in_bytes();
            let is_other = open
                .last()
                .is_some_and(|last: &&NamedTensor| last.tensor.kind() != param.tensor.kind());
            if !open.is_empty() && (bytes + size > cap || is_other) {
                buckets.push(Bucket::new(&open)?);
                (open, bytes) = (Vec::new(), 0);
            }
            open.push(param);
            bytes += size;
        }
        if !open.is_empty() {
            buckets.push(Bucket::new(&open)?);
        }
        Ok(Self { buckets })
    }

    /// Starts the sums; call it after the last backward pass.
    pub(super) fn start(&mut self, group: &Group) -> Result<()> {
        self.buckets.iter_mut().try_for_each(|bucket| bucket.start(group))
    }

    /// Waits for the sums, which replace the gradients.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.buckets.iter_mut().try_for_each(Bucket::finish)
    }
}

impl Bucket {
    fn new(params: &[&NamedTensor]) -> Result<Self> {
        let _mode = GradMode::set(false);
        let first = &params[0].tensor;
        let count: usize = params.iter().map(|param| param.tensor.numel()).sum();
        let flat = Tensor::f_zeros([number(count)], (first.kind(), first.device()))?;
        let (mut views, mut start) = (TensorList::default(), 0);
        for param in params {
            let length = number(param.tensor.numel());
            views.push(&flat.f_narrow(0, start, length)?.f_view(param.tensor.size().as_slice())?);
            start += length;
        }
        let names = params.iter().map(|param| param.name.clone()).collect();
        let list = params.iter().map(|param| &param.tensor).collect();
        Ok(Self { names, params: list, flat, views, grads: TensorList::default(), pending: None })
    }

    fn start(&mut self, group: &Group) -> Result<()> {
        let _mode = GradMode::set(false);
        autograd::grads_into(&self.params, &mut self.grads)?;
        if self.grads.len() < self.params.len() {
            return Err(self.first_unused());
        }
        foreach::copy_(&self.views, &self.grads)?;
        self.pending = Some(group.all_reduce_start(&self.flat, Reduction::Sum)?);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let _mode = GradMode::set(false);
        pending.wait()?;
        foreach::copy_(&self.grads, &self.views)?;
        self.grads.clear();
        Ok(())
    }

    /// An error that names the first parameter without a gradient.
    fn first_unused(&self) -> EngineError {
        let is_unused = |param: &Tensor| matches!(autograd::grad(param), Ok(None));
        let found = self.params.iter().zip(&self.names).find(|(param, _)| is_unused(param));
        EngineError::Unused { name: found.map(|(_, name)| name.clone()).unwrap_or_default() }
    }
}

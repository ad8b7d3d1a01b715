//! Data parallel: every rank has the whole model and its share of each batch; gradients are summed over all ranks while the
//! backward pass runs.

use std::cell::{Cell, RefCell};

use tch::Tensor;

use super::data::Rank;
use super::engine::{Engine, rows_of};
use super::error::{EngineError, Result};
use super::loss_scaler::Aside;
use super::named_tensor::NamedTensor;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::dist::{Group, Reducer, ReducerOptions, Reduction};

/// The ranks that train together, and how their gradients become one.
#[derive(Debug)]
pub struct DataParallel {
    group: Group,
    options: ReducerOptions,
    // Made for the parameters that are trained, and anew when these change.
    reducer: RefCell<Option<Reducer>>,
    // Whether the gradients of this iteration are sums over all ranks already.
    is_reduced: Cell<bool>,
}

impl DataParallel {
    /// Trains with the other ranks of a group.
    pub fn new(group: Group, options: ReducerOptions) -> Self {
        Self { group, options, reducer: RefCell::new(None), is_reduced: Cell::new(false) }
    }

    /// Begins anew: other parameters are trained from here on.
    pub(super) fn reset(&self) {
        self.reducer.replace(None);
    }

    fn prepare(&self, params: &[NamedTensor], act: impl Fn(&Reducer) -> Result<()>) -> Result<()> {
        let mut reducer = self.reducer.borrow_mut();
        if reducer.is_none() {
            let trained = trained(params);
            let trained: Vec<_> = trained.map(|it| (it.name.as_str(), &it.tensor)).collect();
            *reducer = Some(Reducer::new(&trained, &self.group, self.options)?);
        }
        reducer.as_ref().map_or(Ok(()), act)
    }

    /// An error that names a parameter without a gradient: the other ranks wait for it.
    fn check_used(&self, params: &[NamedTensor]) -> Result<()> {
        if self.options.find_unused {
            return Ok(());
        }
        let unused = self.reducer.borrow().as_ref().and_then(Reducer::first_unused);
        let named = unused.and_then(|index| trained(params).nth(index));
        named.map_or(Ok(()), |param| Err(EngineError::Unused { name: param.name.clone() }))
    }
}

fn trained(params: &[NamedTensor]) -> impl Iterator<Item = &NamedTensor> {
    params.iter().filter(|param| param.tensor.requires_grad())
}

/// A backward pass among those of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Others follow: gradients add up on this rank.
    Partial,
    /// The last one: gradients are summed over all ranks.
    Last,
}

impl Engine {
    /// Trains with other ranks from here on, all from the parameters and buffers of rank 0.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn join(&mut self, parallel: DataParallel) -> Result<()> {
        let _mode = GradMode::set(false);
        for named in self.model_state() {
            parallel.group.broadcast(&named.tensor, 0)?;
        }
        self.parallel = Some(parallel);
        Ok(())
    }

    /// Trains alone again. Other ranks that wait for this one fail.
    pub fn part(&mut self) {
        self.parallel = None;
    }

    /// This process among those that train together.
    pub fn rank(&self) -> Rank {
        let of = |it: &DataParallel| Rank { rank: it.group.rank(), world: it.group.world() };
        self.parallel.as_ref().map_or(Rank::ONLY, of)
    }

    /// Gives all ranks the buffers of rank 0: running statistics are made of each rank's own rows.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn share_buffers(&self) -> Result<()> {
        let Some(parallel) = &self.parallel else { return Ok(()) };
        let _mode = GradMode::set(false);
        self.buffers().iter().try_for_each(|it| Ok(parallel.group.broadcast(&it.tensor, 0)?))
    }

    /// What the mean of the loss of an iteration is taken over, on all ranks together.
    pub(super) fn whole_weight(&self, labels: &Tensor, rows: i64) -> Result<f64> {
        let Some(parallel) = &self.parallel else { return self.loss_weight(labels) };
        let Some(own) = self.counted(labels)? else { return Ok(rows_of(rows)) };
        let sum = Tensor::f_from_slice(&[own])?;
        parallel.group.all_reduce(&sum, Reduction::Sum)?;
        Ok(sum.f_double_value(&[0])?)
    }

    /// Call it before the last forward pass of an iteration: its backward pass sums the gradients over all ranks.
    ///
    /// # Errors
    /// A rank is gone, or its parameters differ.
    pub fn before_last_forward(&self) -> Result<()> {
        let Some(parallel) = &self.parallel else { return Ok(()) };
        parallel.is_reduced.set(false);
        parallel.prepare(self.params(), |reducer| Ok(reducer.before_forward()?))
    }

    /// Differentiates what was scaled and weighed.
    pub(super) fn differentiate(&self, product: &Tensor, pass: Pass) -> Result<()> {
        match &self.parallel {
            Some(parallel) if pass == Pass::Last => self.backward_reduced(parallel, product),
            _ => Ok(autograd::backward(product)?),
        }
    }

    /// Runs a backward pass and sums its gradients over all ranks, without those that an earlier pass of the iteration has
    /// summed.
    fn backward_reduced(&self, parallel: &DataParallel, product: &Tensor) -> Result<()> {
        let earlier = parallel.is_reduced.get().then(|| Aside::take(self.param_list()));
        let earlier = earlier.transpose()?;
        if earlier.is_some() {
            parallel.prepare(self.params(), |reducer| Ok(reducer.before_forward()?))?;
        }
        parallel.prepare(self.params(), |reducer| Ok(reducer.before_backward(product)?))?;
        parallel.group.during("all_reduce", || autograd::backward(product))?;
        parallel.check_used(self.params())?;
        parallel.is_reduced.set(true);
        earlier.map_or(Ok(()), Aside::put_back)
    }
}

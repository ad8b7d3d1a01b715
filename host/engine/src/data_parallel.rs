//! Data parallel: every rank has the whole model and its share of each batch; gradients are summed over all ranks while the
//! backward pass runs.

use std::cell::{Cell, RefCell};

use tch::Tensor;

use super::data::Rank;
use super::engine::{Engine, rows_of};
use super::error::{EngineError, Result};
use super::loss_scaler::StashedGrads;
use super::model::NormRanks;
use super::named_tensor::NamedTensor;
use super::param_gather::ParamGather;
use hookrack_torch::TorchError;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::dist::{Group, Mesh, PendingNumbers, Reducer, ReducerOptions};

/// The ranks that train together, and how their gradients become one.
#[derive(Debug)]
pub struct DataParallel {
    group: Group,
    // Of the same ranks.
    mesh: Mesh,
    options: ReducerOptions,
    // Made for the parameters that are trained, and anew when these change.
    reducer: RefCell<Option<Reducer>>,
    // Made for the parameters that the optimizer knows, if it is sharded.
    gather: RefCell<Option<ParamGather>>,
    // Whether the gradients of this iteration are sums over all ranks already.
    is_reduced: Cell<bool>,
}

impl DataParallel {
    /// Trains with the other ranks of a group, with which `mesh` exchanges numbers.
    pub fn new(group: Group, mesh: Mesh, options: ReducerOptions) -> Self {
        let (reducer, gather) = (RefCell::new(None), RefCell::new(None));
        Self { group, mesh, options, reducer, gather, is_reduced: Cell::new(false) }
    }

    /// The ranks.
    pub(super) fn group(&self) -> &Group {
        &self.group
    }

    /// The largest bucket of gradients, in bytes.
    pub(super) fn cap(&self) -> usize {
        self.options.buckets.cap
    }

    /// Begins anew: other parameters are trained from here on.
    pub(super) fn reset(&self) {
        self.reducer.replace(None);
        self.gather.replace(None);
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

/// The weight of the labels of an iteration in its loss, on all ranks.
#[derive(Debug)]
pub enum WholeWeight {
    /// It is known.
    Done(f64),
    /// The ranks' weights are on their way.
    Started(PendingNumbers<f64, 1>),
}

/// The share of a part of an iteration in its gradients; 0 if no label counts.
pub fn share(weight: f64, whole: f64) -> f64 {
    if whole > 0.0 { weight / whole } else { 0.0 }
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

    /// From now on, batch norms use the statistics of the rows of all ranks in training.
    pub fn sync_norms(&self, group: Group) {
        if let Some(norms) = &self.model().info().norm_ranks {
            norms.set(Some(group));
        }
    }

    /// Whether a forward pass in training, and its backward pass, wait for the other ranks.
    pub fn syncs_norms(&self) -> bool {
        self.model().info().norm_ranks.as_ref().is_some_and(NormRanks::is_joined)
    }

    /// Trains alone again. Other ranks that wait for this one fail.
    pub fn leave_groups(&mut self) {
        self.parallel = None;
        self.pipeline = None;
        if let Some(norms) = &self.model().info().norm_ranks {
            norms.set(None);
        }
    }

    /// This process among those that train together.
    pub fn rank(&self) -> Rank {
        let of = |it: &DataParallel| Rank { rank: it.group.rank(), world: it.group.world() };
        self.parallel.as_ref().map_or(Rank::ONLY, of)
    }

    /// Gathers on all ranks the parameters that each has stepped its share of; does nothing if the optimizer is not sharded.
    pub(super) fn gather_params(&self) -> Result<()> {
        let Some(parallel) = self.parallel.as_ref().filter(|_| self.shard().world > 1) else {
            return Ok(());
        };
        let _mode = GradMode::set(false);
        let mut gather = parallel.gather.borrow_mut();
        if gather.is_none() {
            let (groups, cap) = (self.optimizer().groups(), parallel.options.buckets.cap);
            *gather = Some(ParamGather::new(groups, self.shard().rank, cap, self.device())?);
        }
        gather.as_ref().map_or(Ok(()), |gather| gather.run(&parallel.group))
    }

    /// Broadcasts the buffers of rank 0: the running statistics of each rank are those of its own rows.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn share_buffers(&self) -> Result<()> {
        let Some(parallel) = &self.parallel else { return Ok(()) };
        let _mode = GradMode::set(false);
        self.buffers().iter().try_for_each(|it| Ok(parallel.group.broadcast(&it.tensor, 0)?))
    }

    /// Starts to find what the mean of the loss of an iteration is taken over, on all ranks together; `own` is what it is here. All
    /// ranks do, or none, whatever their labels are.
    pub(super) fn weigh_all(&self, own: f64, rows: i64) -> Result<WholeWeight> {
        let Some(parallel) = &self.parallel else { return Ok(WholeWeight::Done(own)) };
        if !self.weighs_labels() {
            return Ok(WholeWeight::Done(rows_of(rows)));
        }
        Ok(WholeWeight::Started(parallel.mesh.start([own])?))
    }

    /// Waits for the weight of the labels of all ranks.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn weighed(&self, pending: WholeWeight) -> Result<f64> {
        match (pending, &self.parallel) {
            (WholeWeight::Done(weight), _) => Ok(weight),
            (WholeWeight::Started(weights), Some(parallel)) => {
                let [sum] = parallel.mesh.finish(weights, |one, other| one + other)?;
                Ok(sum)
            }
            (WholeWeight::Started(_), None) => Err(TorchError::left_the_ranks().into()),
        }
    }

    /// Call it before the last forward pass of an iteration: its backward pass sums the gradients over all ranks.
    ///
    /// # Errors
    /// A rank is gone, or its parameters differ.
    pub fn before_last_forward(&self) -> Result<()> {
        // The gradients of a stage are summed when its last backward pass is done.
        let Some(parallel) = self.parallel.as_ref().filter(|_| self.stage.is_none()) else {
            return Ok(());
        };
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
        let earlier = parallel.is_reduced.get().then(|| StashedGrads::take(self.param_list()));
        let earlier = earlier.transpose()?;
        if earlier.is_some() {
            parallel.prepare(self.params(), |reducer| Ok(reducer.before_forward()?))?;
        }
        parallel.prepare(self.params(), |reducer| Ok(reducer.before_backward(product)?))?;
        parallel.group.during("all_reduce", || autograd::backward(product))?;
        parallel.check_used(self.params())?;
        parallel.is_reduced.set(true);
        earlier.map_or(Ok(()), StashedGrads::restore)
    }
}

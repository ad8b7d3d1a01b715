//! The state of the fake trainer: the model, the batch, and everything that hooks have logged or requested.

use super::FakeValue;
use super::handles::Arena;
use super::ops;
use super::rules::{ForwardHolder, Parts};
use super::tensor::FakeTensor;
use crate::abi::{HrProgress, HrTensor};
use crate::error::{Error, Result};
use crate::phase::Phase;
use crate::value::Value;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The world of one fake trainer, shared by the handles of its hooks.
pub(crate) type Shared = Rc<RefCell<World>>;

type Model = Box<dyn FnMut(&FakeTensor, &[FakeTensor]) -> Result<FakeTensor>>;
type SecondModel = Box<dyn FnMut(&FakeTensor) -> Result<FakeTensor>>;
type Criterion = Box<dyn FnMut(&FakeTensor, &FakeTensor) -> Result<FakeTensor>>;
type Gradient = Box<dyn FnMut(&[FakeTensor]) -> Result<Vec<FakeTensor>>>;
type GradientsOf = Box<dyn FnMut(&FakeTensor, &[FakeTensor]) -> Result<Vec<FakeTensor>>>;
type OwnOp = Box<dyn FnMut(&ops::OpArgs<'_>) -> Result<Vec<FakeValue>>>;

/// A parameter of the model.
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) tensor: FakeTensor,
    pub(crate) handle: HrTensor,
    /// The gradient that `backward` adds; `None` for a parameter without one.
    pub(crate) gradient: Option<FakeTensor>,
    pub(crate) grad: Option<FakeTensor>,
    pub(crate) trainable: bool,
}

/// The settings of the parameter group.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) lr: f64,
    pub(crate) base_lr: f64,
    pub(crate) momentum: Option<f64>,
    pub(crate) weight_decay: f64,
}

/// A scalar and all its values.
pub(crate) struct Scalar {
    pub(crate) name: String,
    pub(crate) smooth: bool,
    /// Iteration, samples, value.
    pub(crate) values: Vec<(u64, u64, f64)>,
}

/// A metric's values as hooks read them.
pub(crate) struct MetricValue {
    pub(crate) phase: Phase,
    pub(crate) name: String,
    pub(crate) better: i32,
    pub(crate) step: f64,
    pub(crate) epoch: f64,
}

/// A line of the log, as [`FakeTrainer::logs`](super::FakeTrainer::logs) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// A `LOG_*` of [`log`](crate::log).
    pub level: u32,
    /// The hook that logged it.
    pub hook: String,
    /// The message.
    pub message: String,
}

/// A file of tensors that a hook has saved.
pub(crate) type TensorFile = Vec<(String, FakeTensor)>;

#[derive(Default)]
pub(crate) struct World {
    pub(crate) progress: Rc<Cell<HrProgress>>,
    pub(crate) params: Vec<Param>,
    pub(crate) buffers: Vec<(String, FakeTensor, HrTensor)>,
    pub(crate) group: Group,
    pub(crate) model: Option<Model>,
    pub(crate) criterion: Option<Criterion>,
    pub(crate) gradient: Option<Gradient>,
    /// The gradients of a tensor with respect to others, as hooks ask for them.
    pub(crate) gradients_of: Option<GradientsOf>,
    pub(crate) own_ops: BTreeMap<String, OwnOp>,
    /// Input, label, output and loss of every batch, unless they are computed.
    pub(crate) batch: [Option<FakeTensor>; 4],
    pub(super) slots: [Option<(FakeTensor, HrTensor)>; 5],
    pub(super) rows: [Vec<HrTensor>; 3],
    pub(crate) returned: Vec<Vec<HrTensor>>,
    pub(super) arena: Arena,
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) metrics: Vec<MetricValue>,
    pub(crate) states: Vec<(String, Value)>,
    pub(crate) stop: Option<String>,
    pub(crate) wants_validation: bool,
    pub(crate) wants_checkpoint: bool,
    pub(crate) logs: Vec<LogLine>,
    pub(crate) files: BTreeMap<String, TensorFile>,
    pub(crate) written: BTreeMap<String, Vec<u8>>,
    /// The tensors of the last file read that were not taken yet.
    pub(crate) loaded: Vec<(String, Option<FakeTensor>)>,
    /// Tensors that hooks share.
    pub(crate) shared: BTreeMap<String, FakeTensor>,
    pub(crate) second_model: Option<SecondModel>,
    pub(crate) run_dir: Option<String>,
    /// Other calls of hooks, as text.
    pub(crate) calls: Vec<String>,
    pub(crate) failure: String,
    /// Outputs of layers by name.
    pub(crate) layers: Vec<(String, FakeTensor)>,
    pub(crate) recording: bool,
    pub(crate) pass_left: u64,
    pub(crate) pass_len: u64,
    /// The hook that holds the training forward role.
    pub(crate) forward_role: Option<Rc<ForwardHolder>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let progress = HrProgress {
            struct_size: u32::try_from(size_of::<HrProgress>()).unwrap_or(0),
            inner_len: 1,
            max_epochs: 1,
            max_iters: 1,
            micros: 1,
            world: 1,
            lr: 0.1,
            ..HrProgress::default()
        };
        let group = Group { name: "all".into(), lr: 0.1, base_lr: 0.1, ..Group::default() };
        Self { progress: Rc::new(Cell::new(progress)), group, pass_len: 1, ..Self::default() }
    }

    pub(crate) fn advance(&self, change: impl FnOnce(&mut HrProgress)) {
        let mut progress = self.progress.get();
        change(&mut progress);
        self.progress.set(progress);
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::from_code(self.progress.get().phase)
    }
}

/// Rules.
impl World {
    /// What of the run a tensor's memory is.
    pub(crate) fn part_of(&self, tensor: &FakeTensor) -> Parts {
        const SLOTS: [Parts; 5] =
            [Parts::INPUT, Parts::LABEL, Parts::OUTPUT, Parts::LOSS, Parts::GRADS];
        let own =
            |found: Option<&FakeTensor>| found.is_some_and(|it| it.shares_memory_with(tensor));
        let mut part = Parts::NONE;
        for (slot, named) in self.slots.iter().zip(SLOTS) {
            if own(slot.as_ref().map(|(tensor, _)| tensor)) {
                part = part.and(named);
            }
        }
        for param in &self.params {
            if own(Some(&param.tensor)) {
                part = part.and(Parts::PARAMS);
            }
            if own(param.grad.as_ref()) {
                part = part.and(Parts::GRADS);
            }
        }
        if self.buffers.iter().any(|(_, tensor, _)| own(Some(tensor))) {
            part = part.and(Parts::PARAMS);
        }
        if self.layers.iter().any(|(_, output)| own(Some(output))) {
            part = part.and(Parts::LAYER);
        }
        part
    }

    /// Rejects a call that would bypass the hook with the training forward role.
    pub(crate) fn check_pass(&self, caller: &str, function: &str) -> Result<()> {
        let holder = self.forward_role.as_ref().filter(|_| self.phase() == Phase::Train);
        holder.map_or(Ok(()), |holder| holder.check_pass(caller, function))
    }

    /// Replaces the input or the label of the batch.
    pub(crate) fn change_batch(&mut self, slot: u32, tensor: FakeTensor, what: &str) -> Result<()> {
        let rows = |tensor: &FakeTensor| tensor.shape().first().copied();
        let old = self.in_slot(slot).ok_or_else(|| Error::new(format!("no {what} to change")))?;
        let (old, new) = (rows(&old), rows(&tensor));
        crate::ensure!(
            old == new,
            "the new {what} has shape {:?}, but the batch has {} rows: the number of rows must not change",
            tensor.shape(),
            old.unwrap_or(0)
        );
        self.put_slot(slot, tensor);
        Ok(())
    }
}

/// Scalars.
impl World {
    /// A scalar's number, as its key is known to hooks.
    pub(crate) fn scalar_key(&mut self, name: String, smooth: bool) -> Result<u32> {
        let known = self.scalars.iter().position(|scalar| scalar.name == name);
        let index = known.unwrap_or_else(|| {
            self.scalars.push(Scalar { name, smooth, values: Vec::new() });
            self.scalars.len() - 1
        });
        Ok(u32::try_from(index)?)
    }

    pub(crate) fn scalar(&self, key: u32) -> Result<&Scalar> {
        let found = self.scalars.get(key as usize);
        found.ok_or_else(|| Error::new(format!("no scalar has key {key}")))
    }

    pub(crate) fn put(&mut self, key: u32, value: f64) -> Result<()> {
        let progress = self.progress.get();
        self.scalar(key)?;
        self.scalars[key as usize].values.push((progress.iter, progress.samples, value));
        Ok(())
    }

    /// Sets a metric's values; NaN leaves one as it is.
    pub(crate) fn put_metric(
        &mut self,
        phase: Phase,
        name: &str,
        better: i32,
        step: f64,
        epoch: f64,
    ) {
        let known = self.metrics.iter_mut().find(|it| it.phase == phase && it.name == name);
        let kept = |new: f64, old: f64| if new.is_nan() { old } else { new };
        match known {
            Some(it) => (it.step, it.epoch) = (kept(step, it.step), kept(epoch, it.epoch)),
            None => {
                self.metrics.push(MetricValue {
                    phase,
                    name: name.to_owned(),
                    better,
                    step,
                    epoch,
                });
            }
        }
    }
}

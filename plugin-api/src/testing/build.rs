//! Building a fake trainer: the model, the batch, hooks and metrics.

use super::ops::{FakeValue, OpArgs};
use super::tensor::FakeTensor;
use super::world::World;
use super::{Attached, FakeTrainer, Measured, settings};
use crate::abi::fake::{Caller, HookInstance, MetricInstance};
use crate::abi::{ABI_MINOR, SLOT_INPUT, SLOT_LABEL, SLOT_LOSS, SLOT_OUTPUT};
use crate::error::{Error, Result};
use crate::hook::{Hook, HookInfo};
use crate::metric::{Metric, MetricInfo};
use crate::phase::Phase;
use crate::point::Point;
use crate::value::Value;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::rc::Rc;

/// Building a fake trainer. Without any of these methods the model has no parameters, its output is its
/// input, and its loss the mean of the output.
impl FakeTrainer {
    /// Creates a trainer without parameters, hooks and data.
    ///
    /// | | until it is set |
    /// |---|---|
    /// | epoch and iteration | 0 |
    /// | learning rate | 0.1, in one group without momentum and weight decay |
    /// | output | the input |
    /// | loss | the mean of the output |
    /// | gradients | absent |
    /// | batches of a validation, micro-batches | 1 |
    /// | run directory | none |
    /// | ABI | that of this crate |
    pub fn new() -> Self {
        let world = Rc::new(RefCell::new(World::new()));
        let own = Caller::connect("test", ABI_MINOR, &world);
        Self {
            hooks: Vec::new(),
            metrics: Vec::new(),
            world,
            own,
            minor: ABI_MINOR,
            is_attached: false,
            has_begun: false,
            val_iters: 1,
            micro_batches: 1,
            reached: Vec::new(),
            checkpoint: None,
        }
    }

    /// Simulates an older host with ABI 1.`minor`, which has the extensions of that version only. Call it
    /// before [`hook`](Self::hook).
    #[must_use]
    pub fn abi_minor(mut self, minor: u16) -> Self {
        self.minor = minor;
        self
    }

    fn changed(self, change: impl FnOnce(&mut World)) -> Self {
        change(&mut self.world.borrow_mut());
        self
    }

    /// Adds a parameter to the model. Hooks see parameters in the order in which they are added. Floats
    /// become float32.
    #[must_use]
    pub fn param(self, name: &str, values: impl Into<FakeTensor>) -> Self {
        self.changed(|world| world.add_param(name, values.into()))
    }

    /// Adds a buffer to the model, such as the statistics of a batch norm. Nothing updates it.
    #[must_use]
    pub fn buffer(self, name: &str, values: impl Into<FakeTensor>) -> Self {
        self.changed(|world| world.add_buffer(name, values.into()))
    }

    /// Adds a layer to the model, with its output in every forward pass. It can be read after the output is
    /// there.
    #[must_use]
    pub fn layer(self, name: &str, output: impl Into<FakeTensor>) -> Self {
        let layer = (name.to_owned(), output.into());
        self.changed(|world| world.layers.push(layer))
    }

    /// Sets what `backward` adds to the gradient of a parameter. The gradient of other parameters is absent.
    ///
    /// Add the parameter before; an unknown name does nothing. It is added for each micro-batch, and expanded
    /// to the shape of the parameter. A frozen parameter gets none.
    #[must_use]
    pub fn grad(self, param: &str, values: impl Into<FakeTensor>) -> Self {
        let values = values.into();
        self.changed(|world| {
            for own in world.params.iter_mut().filter(|own| own.name == param) {
                own.gradient = Some(values.clone());
            }
        })
    }

    /// Sets a function that computes the gradients from the current parameters: for hooks that change them,
    /// such as SAM.
    ///
    /// It is called in each backward pass and returns one tensor for each parameter. It must not use this
    /// trainer.
    #[must_use]
    pub fn gradient(
        self,
        function: impl FnMut(&[FakeTensor]) -> Result<Vec<FakeTensor>> + 'static,
    ) -> Self {
        self.changed(|world| world.gradient = Some(Box::new(function)))
    }

    /// Sets a function that computes what [`Trainer::gradients`](crate::Trainer::gradients) returns, from the
    /// tensor and the inputs. Without it that call is an error.
    #[must_use]
    pub fn gradients(
        self,
        function: impl FnMut(&FakeTensor, &[FakeTensor]) -> Result<Vec<FakeTensor>> + 'static,
    ) -> Self {
        self.changed(|world| world.gradients_of = Some(Box::new(function)))
    }

    /// Sets the input of every batch. Its first size is the batch size.
    ///
    /// Every batch is the same memory: what a hook changes in place stays changed.
    #[must_use]
    pub fn input(self, values: impl Into<FakeTensor>) -> Self {
        self.in_batch(SLOT_INPUT, values.into())
    }

    /// Sets the label of every batch. A prediction has none.
    #[must_use]
    pub fn label(self, values: impl Into<FakeTensor>) -> Self {
        self.in_batch(SLOT_LABEL, values.into())
    }

    /// Sets the output of the model for any input. Without this and [`model`](Self::model) it is the input.
    #[must_use]
    pub fn output(self, values: impl Into<FakeTensor>) -> Self {
        self.in_batch(SLOT_OUTPUT, values.into())
    }

    /// Sets the loss of any output. Without this and [`criterion`](Self::criterion) it is the mean of the
    /// output.
    #[must_use]
    pub fn loss(self, value: impl Into<FakeTensor>) -> Self {
        self.in_batch(SLOT_LOSS, value.into())
    }

    fn in_batch(self, slot: u32, tensor: FakeTensor) -> Self {
        self.changed(|world| {
            if slot == SLOT_INPUT {
                let rows = tensor.shape().first().map_or(1, |rows| rows.unsigned_abs());
                world.advance(|progress| progress.batch_size = rows);
            }
            world.batch[slot as usize] = Some(tensor);
        })
    }

    /// Sets the model: a function of the input and the parameters. It takes precedence over
    /// [`output`](Self::output).
    #[must_use]
    pub fn model(
        self,
        function: impl FnMut(&FakeTensor, &[FakeTensor]) -> Result<FakeTensor> + 'static,
    ) -> Self {
        self.changed(|world| world.model = Some(Box::new(function)))
    }

    /// Sets the model that [`Trainer::build_model`](crate::Trainer::build_model) returns for any table: a
    /// function of the input. Without it `build_model` is an error.
    #[must_use]
    pub fn second_model(
        self,
        function: impl FnMut(&FakeTensor) -> Result<FakeTensor> + 'static,
    ) -> Self {
        self.changed(|world| world.second_model = Some(Box::new(function)))
    }

    /// Adds a file for [`Trainer::load_tensors`](crate::Trainer::load_tensors), with tensors by name. `path`
    /// is compared as text; no file is read.
    #[must_use]
    pub fn tensor_file<const N: usize>(self, path: &str, tensors: [(&str, FakeTensor); N]) -> Self {
        let tensors = tensors.map(|(name, tensor)| (name.to_owned(), tensor)).into();
        let path = path.to_owned();
        self.changed(|world| {
            world.files.insert(path, tensors);
        })
    }

    /// Sets the loss: a function of output and label. It takes precedence over [`loss`](Self::loss).
    #[must_use]
    pub fn criterion(
        self,
        function: impl FnMut(&FakeTensor, &FakeTensor) -> Result<FakeTensor> + 'static,
    ) -> Self {
        self.changed(|world| world.criterion = Some(Box::new(function)))
    }

    /// Adds an operator that the fake trainer lacks, or replaces one, by its full name: `aten::cumprod`.
    ///
    /// The function returns the results in order. It must not use this trainer.
    #[must_use]
    pub fn op(
        self,
        name: &str,
        function: impl FnMut(&OpArgs<'_>) -> Result<Vec<FakeValue>> + 'static,
    ) -> Self {
        self.changed(|world| {
            world.own_ops.insert(name.to_owned(), Box::new(function));
        })
    }

    /// Sets the initial learning rate; default 0.1. No schedule changes it.
    #[must_use]
    pub fn lr(self, lr: f64) -> Self {
        self.changed(|world| {
            (world.group.lr, world.group.base_lr) = (lr, lr);
            world.advance(|progress| progress.lr = lr);
        })
    }

    /// Sets the number of batches of a validation; default 1, 0 for no validation. One that a hook requests
    /// then has no batch.
    #[must_use]
    pub fn val_iters(mut self, iters: u64) -> Self {
        self.val_iters = iters;
        self
    }

    /// Sets the number of micro-batches of an iteration; default 1. Each has the whole batch.
    #[must_use]
    pub fn micro_batches(mut self, count: u32) -> Self {
        self.micro_batches = count.max(1);
        self
    }

    /// Gives the run a directory. Nothing is written there: [`file`](Self::file) returns what hooks save.
    /// Without one, saving a file is an error, as in a run without a directory.
    #[must_use]
    pub fn run_dir(self, path: &str) -> Self {
        self.changed(|world| world.run_dir = Some(path.to_owned()))
    }

    /// Sets a metric's value over the last pass of a phase, for hooks that monitor it. Higher is better. The
    /// value is there from the start and stays until a metric of this name has another.
    #[must_use]
    pub fn metric_value(self, phase: Phase, name: &str, value: f64) -> Self {
        self.changed(|world| world.put_metric(phase, name, 1, f64::NAN, value))
    }

    /// Adds a hook with the name of its type. Hooks run in the order of their levels and with their cadence:
    /// that of `#[hook(every = …)]`, or `every` among the settings, as in a config.
    ///
    /// The settings are checked as in a config: unknown keys and numbers out of range are errors. Other keys
    /// of an entry, such as `level` and `on_error`, are not known here.
    ///
    /// # Errors
    /// The settings are invalid, or `every` would skip a role.
    pub fn hook<T: Hook + HookInfo + DeserializeOwned>(
        self,
        settings: impl Into<Value>,
    ) -> Result<Self> {
        self.hook_as::<T>(short_name::<T>(), settings)
    }

    /// Adds a hook with an instance name, as [`hook`](Self::hook): for two hooks of one type, whose state and
    /// scalars are kept apart by their names.
    ///
    /// # Errors
    /// As for [`hook`](Self::hook).
    pub fn hook_as<T: Hook + HookInfo + DeserializeOwned>(
        mut self,
        name: &'static str,
        settings: impl Into<Value>,
    ) -> Result<Self> {
        let named = |error: Error| error.context(format!("hook `{name}`"));
        let points: Vec<_> = T::POINTS.iter().filter_map(|name| Point::from_name(name)).collect();
        let (every, settings) = settings::cadence(T::EVERY, settings.into()).map_err(named)?;
        settings::check(T::params(), &settings).map_err(named)?;
        if let Some(role) = points.iter().find(|point| point.is_role() && !every.is_each()) {
            let error = format!("`every` would skip the role {role}, which every step needs");
            return Err(named(Error::new(error)));
        }
        let instance = HookInstance::new::<T>(name, self.minor, &self.world, &settings);
        let (level, has_state, instance) = (T::LEVEL, T::HAS_STATE, instance.map_err(named)?);
        self.hooks.push(Attached {
            name,
            level,
            points,
            every,
            has_state,
            instance: Rc::new(instance),
        });
        self.hooks.sort_by_key(|hook| hook.level);
        self.set_forward_role();
        Ok(self)
    }

    /// Adds a metric with the name of its type: it is reset, updated and computed as in a run, in every
    /// phase.
    ///
    /// All phases share one object here. Hooks read its values; metrics run before all hooks of a point.
    ///
    /// # Errors
    /// As for [`hook`](Self::hook).
    pub fn metric<T: Metric + MetricInfo + DeserializeOwned>(
        mut self,
        settings: impl Into<Value>,
    ) -> Result<Self> {
        let (name, settings) = (short_name::<T>(), settings.into());
        let instance = settings::check(T::params(), &settings)
            .and_then(|()| MetricInstance::new::<T>(name, self.minor, &self.world, &settings))
            .map_err(|error| error.context(format!("metric `{name}`")))?;
        let better = match T::BETTER {
            "higher" => 1,
            "lower" => -1,
            _ => 0,
        };
        self.metrics.push(Measured { name, better, instance });
        Ok(self)
    }
}

/// The last word of a type's name.
fn short_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    let path = name.split('<').next().unwrap_or(name);
    path.rsplit("::").next().unwrap_or(path)
}

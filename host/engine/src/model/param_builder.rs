//! The tensors of a model while it is made: drawn, named, written down in order.

use tch::{Device, Kind, Tensor};

use super::ModelContext;
use super::draw::Draw;
use super::init::{Fans, Init};
use super::layer_output::LayerOutput;
use super::unit::{Made, Shared, Unit};
use crate::error::Result;
use crate::named_tensor::NamedTensor;

/// Makes tensors for layers and keeps a list of them, in the order in which they were asked for.
#[derive(Debug)]
pub struct ParamBuilder {
    device: Device,
    init: Init,
    params: Vec<NamedTensor>,
    buffers: Vec<NamedTensor>,
    layers: Vec<LayerOutput>,
    made: Made,
    units: Vec<Unit>,
    shared: Vec<Shared>,
    copies: Vec<NamedTensor>,
}

/// What a model consists of, takes and gives.
#[derive(Debug, Default)]
pub struct ModelInfo {
    /// What the optimizer changes.
    pub params: Vec<NamedTensor>,
    /// What the model itself changes.
    pub buffers: Vec<NamedTensor>,
    /// The layers that leave their outputs for whoever asks.
    pub layers: Vec<LayerOutput>,
    /// The parts between which it can be split, in order; empty if it cannot.
    pub units: Vec<Unit>,
    /// Parameters that more than one unit uses.
    pub shared: Vec<Shared>,
    /// Copies of parameters whose own unit was not made, for the units that use them too. Their values are to be filled in.
    pub copies: Vec<NamedTensor>,
    /// The shape of one sample that it takes.
    pub input_shape: Vec<i64>,
    /// The shape of one sample that it gives.
    pub output_shape: Vec<i64>,
}

impl ParamBuilder {
    /// An empty list for tensors on a device.
    pub fn new(device: Device, init: Init) -> Self {
        let (params, buffers, layers) = (Vec::new(), Vec::new(), Vec::new());
        let (made, units, shared, copies) = (Made::All, Vec::new(), Vec::new(), Vec::new());
        Self { device, init, params, buffers, layers, made, units, shared, copies }
    }

    /// An empty list for those units of a model that the context wants.
    pub fn of(context: &ModelContext, init: &Init) -> Self {
        Self { made: context.made.clone(), ..Self::new(context.device, init.clone()) }
    }

    /// Begins the next unit of the model: what follows belongs to it.
    pub fn unit(&mut self, name: &str) {
        self.units.push(Unit { name: name.to_owned(), params: 0, tensors: 0, buffers: 0 });
    }

    /// Notes that the current unit uses a parameter of an earlier one, and returns it, or a copy if this unit is made without that one.
    pub fn share(&mut self, param: &str, shape: &[i64]) -> Result<Tensor> {
        let unit = self.units.len().saturating_sub(1);
        self.shared.push(Shared { param: param.to_owned(), unit });
        if let Some(own) = self.params.iter().find(|own| own.name == param) {
            return Ok(own.tensor.shallow_clone());
        }
        if !self.is_made() {
            return Ok(Tensor::new());
        }
        let copy = Draw::Zeros.values(shape, self.device)?.f_set_requires_grad(true)?;
        self.copies.push(NamedTensor::new(param.to_owned(), copy.shallow_clone()));
        Ok(copy)
    }

    /// Whether the current unit is made.
    pub(super) fn is_made(&self) -> bool {
        self.units.len().checked_sub(1).is_none_or(|unit| self.made.has(unit))
    }

    /// The place where a layer leaves its output; the same one for the same name.
    pub fn layer(&mut self, path: &str) -> LayerOutput {
        if !self.is_made() {
            return LayerOutput::new(path);
        }
        let known = self.layers.iter().find(|layer| layer.name() == path).cloned();
        known.unwrap_or_else(|| {
            let layer = LayerOutput::new(path);
            self.layers.push(layer.clone());
            layer
        })
    }

    /// A matrix or kernel: what the choice of initial values is about. `own` is the layer's own way.
    pub fn weight(&mut self, name: String, shape: &[i64], fans: Fans, own: Draw) -> Result<Tensor> {
        let draw = self.init.draw(fans).unwrap_or(own);
        self.param(name, shape, draw)
    }

    /// What is added after a weight: 0 where initial values were chosen.
    pub fn bias(&mut self, name: String, size: i64, fans: Fans, own: Draw) -> Result<Tensor> {
        let draw = self.init.draw(fans).map_or(own, |_| Draw::Zeros);
        self.param(name, &[size], draw)
    }

    /// Any other parameter, such as a norm's.
    pub fn param(&mut self, name: String, shape: &[i64], draw: Draw) -> Result<Tensor> {
        if let Some(unit) = self.units.last_mut() {
            unit.params += numbers(shape);
            unit.tensors += 1;
        }
        if self.made == Made::None {
            return Ok(Tensor::new());
        }
        let tensor = draw.values(shape, self.device)?.f_set_requires_grad(true)?;
        if !self.is_made() {
            return Ok(Tensor::new());
        }
        self.params.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// Numbers that the model changes, not the optimizer.
    pub fn buffer(&mut self, name: String, shape: &[i64], draw: Draw) -> Result<Tensor> {
        if let Some(unit) = self.units.last_mut() {
            unit.buffers += numbers(shape);
        }
        if !self.is_made() {
            return Ok(Tensor::new());
        }
        let tensor = draw.values(shape, self.device)?;
        self.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// A counter that begins at 0.
    pub fn counter(&mut self, name: String) -> Result<Tensor> {
        if !self.is_made() {
            return Ok(Tensor::new());
        }
        let tensor = Tensor::f_zeros([0_i64; 0], (Kind::Int64, self.device))?;
        self.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// The model, once all layers are made, by the shapes of a sample that it takes and gives.
    pub fn finish(self, input_shape: &[i64], output_shape: &[i64]) -> ModelInfo {
        let (input_shape, output_shape) = (input_shape.to_vec(), output_shape.to_vec());
        let Self { params, buffers, layers, units, shared, copies, .. } = self;
        ModelInfo { params, buffers, layers, units, shared, copies, input_shape, output_shape }
    }
}

fn numbers(shape: &[i64]) -> usize {
    shape.iter().map(|side| usize::try_from(*side).unwrap_or(0)).product()
}

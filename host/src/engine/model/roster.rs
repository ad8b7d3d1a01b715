//! The tensors of a model while it is made: drawn, named, written down in order.

use tch::{Device, Kind, Tensor};

use super::draw::Draw;
use super::init::{Fans, Init};
use crate::engine::error::Result;
use crate::engine::named_tensor::NamedTensor;

/// Makes tensors for layers and keeps a list of them, in the order in which they were asked for.
#[derive(Debug)]
pub struct Roster {
    device: Device,
    init: Init,
    tensors: Tensors,
}

/// What a model consists of.
#[derive(Debug, Default)]
pub struct Tensors {
    /// What the optimizer changes.
    pub params: Vec<NamedTensor>,
    /// What the model itself changes.
    pub buffers: Vec<NamedTensor>,
}

impl Roster {
    /// An empty list for tensors on a device.
    pub fn new(device: Device, init: Init) -> Self {
        Self { device, init, tensors: Tensors::default() }
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
        let tensor = draw.values(shape, self.device)?.f_set_requires_grad(true)?;
        self.tensors.params.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// Numbers that the model changes, not the optimizer.
    pub fn buffer(&mut self, name: String, shape: &[i64], draw: Draw) -> Result<Tensor> {
        let tensor = draw.values(shape, self.device)?;
        self.tensors.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// A counter that begins at 0.
    pub fn counter(&mut self, name: String) -> Result<Tensor> {
        let tensor = Tensor::f_zeros([0_i64; 0], (Kind::Int64, self.device))?;
        self.tensors.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// The list, once all layers are made.
    pub fn finish(self) -> Tensors {
        self.tensors
    }
}

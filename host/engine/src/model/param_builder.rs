//! The tensors of a model while it is made: drawn, named, written down in order.

use tch::{Device, Kind, Tensor};

use super::draw::Draw;
use super::init::{Fans, Init};
use super::layer_output::LayerOutput;
use crate::error::Result;
use crate::memory;
use crate::named_tensor::NamedTensor;

/// Makes tensors for layers and keeps a list of them, in the order in which they were asked for.
#[derive(Debug)]
pub struct ParamBuilder {
    device: Device,
    init: Init,
    params: Vec<NamedTensor>,
    buffers: Vec<NamedTensor>,
    layers: Vec<LayerOutput>,
    /// Of all tensors so far.
    bytes: u128,
}

/// Bytes of one number of a parameter.
const FLOAT: u128 = 4;

/// What a model consists of, takes and gives.
#[derive(Debug, Default)]
pub struct ModelInfo {
    /// What the optimizer changes.
    pub params: Vec<NamedTensor>,
    /// What the model itself changes.
    pub buffers: Vec<NamedTensor>,
    /// The layers whose outputs can be requested.
    pub layers: Vec<LayerOutput>,
    /// The shape of one sample that it takes.
    pub input_shape: Vec<i64>,
    /// The shape of one sample that it gives.
    pub output_shape: Vec<i64>,
}

impl ParamBuilder {
    /// An empty list for tensors on a device.
    pub fn new(device: Device, init: Init) -> Self {
        let (params, buffers, layers) = (Vec::new(), Vec::new(), Vec::new());
        Self { device, init, params, buffers, layers, bytes: 0 }
    }

    /// Refuses a model that no memory holds before it is drawn: one by one its tensors may fit, until the machine has no more.
    fn count(&mut self, name: &str, shape: &[i64]) -> Result<()> {
        let sides = shape.iter().map(|side| u128::from(side.unsigned_abs()));
        let bytes = sides.fold(FLOAT, u128::saturating_mul);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.device != Device::Cpu {
            return Ok(());
        }
        memory::check("", format!("the parameters up to `{name}`"), self.bytes)
    }

    /// The place where a layer leaves its output; the same one for the same name.
    pub fn layer(&mut self, path: &str) -> LayerOutput {
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
        self.count(&name, shape)?;
        let tensor = draw.values(shape, self.device)?.f_set_requires_grad(true)?;
        self.params.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// Numbers that the model changes, not the optimizer.
    pub fn buffer(&mut self, name: String, shape: &[i64], draw: Draw) -> Result<Tensor> {
        self.count(&name, shape)?;
        let tensor = draw.values(shape, self.device)?;
        self.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// A counter that begins at 0.
    pub fn counter(&mut self, name: String) -> Result<Tensor> {
        let tensor = Tensor::f_zeros([0_i64; 0], (Kind::Int64, self.device))?;
        self.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// The model, once all layers are made, by the shapes of a sample that it takes and gives.
    pub fn finish(self, input_shape: &[i64], output_shape: &[i64]) -> ModelInfo {
        let (input_shape, output_shape) = (input_shape.to_vec(), output_shape.to_vec());
        let Self { params, buffers, layers, .. } = self;
        ModelInfo { params, buffers, layers, input_shape, output_shape }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_that_are_too_many_together_are_refused_before_the_last_is_drawn() {
        let mut builder = ParamBuilder::new(Device::Cpu, Init::default());
        let _ = builder.param("a".into(), &[2], Draw::Zeros).unwrap();
        // As many as no machine has, of which each would fit.
        builder.bytes = 1 << 80;
        let error = builder.param("b".into(), &[4], Draw::Zeros).unwrap_err();
        let wanted = "the parameters up to `b`: 1208925819614629174706192 bytes are needed, more than this machine has";
        assert_eq!(error.to_string(), wanted);
        assert!(builder.buffer("c".into(), &[1 << 62, 1 << 62], Draw::Zeros).is_err());
        assert_eq!(builder.finish(&[], &[]).params.len(), 1);
    }
}

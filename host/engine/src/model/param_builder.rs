//! The tensors of a model while it is made: drawn, named, written down in order.

use tch::{Device, Kind, Tensor};

use super::draw::Draw;
use super::init::{Fans, Init};
use super::layer_output::LayerOutput;
use super::norm_ranks::NormRanks;
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
    norm_ranks: Option<NormRanks>,
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
    /// The ranks that its batch norms take their statistics from; `None` where it has none.
    pub norm_ranks: Option<NormRanks>,
    /// The shape of one sample that it takes.
    pub input_shape: Vec<i64>,
    /// The shape of one sample that it gives.
    pub output_shape: Vec<i64>,
}

impl ParamBuilder {
    /// An empty list for tensors on a device.
    pub fn new(device: Device, init: Init) -> Self {
        Self {
            device,
            init,
            params: Vec::new(),
            buffers: Vec::new(),
            layers: Vec::new(),
            norm_ranks: None,
        }
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
        let tensor = draw.values(shape, self.device)?.f_set_requires_grad(true)?;
        self.params.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// Numbers that the model changes, not the optimizer.
    pub fn buffer(&mut self, name: String, shape: &[i64], draw: Draw) -> Result<Tensor> {
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

    /// The ranks whose rows the batch norms of this model normalise by: the same for all of them.
    pub fn norm_ranks(&mut self) -> NormRanks {
        self.norm_ranks.get_or_insert_default().clone()
    }

    /// The model, once all layers are made, by the shapes of a sample that it takes and gives.
    pub fn finish(self, input_shape: &[i64], output_shape: &[i64]) -> ModelInfo {
        let (input_shape, output_shape) = (input_shape.to_vec(), output_shape.to_vec());
        let Self { params, buffers, layers, norm_ranks, .. } = self;
        ModelInfo { params, buffers, layers, norm_ranks, input_shape, output_shape }
    }
}

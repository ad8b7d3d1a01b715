//! Creates the tensors of a model: draws, names and lists them in order.

use tch::{Device, Kind, Tensor};

use super::ModelContext;
use super::init::{Fans, Init};
use super::initializer::Initializer;
use super::layer_output::LayerOutput;
use super::norm_ranks::NormRanks;
use super::unit::{BuiltUnits, Shared, Unit};
use crate::error::Result;
use crate::memory;
use crate::named_tensor::NamedTensor;

/// Creates tensors for layers and keeps a list of them, in the order in which they were requested.
#[derive(Debug)]
pub struct ParamBuilder {
    device: Device,
    init: Init,
    params: Vec<NamedTensor>,
    buffers: Vec<NamedTensor>,
    layers: Vec<LayerOutput>,
    made: BuiltUnits,
    units: Vec<Unit>,
    shared: Vec<Shared>,
    copies: Vec<NamedTensor>,
    elsewhere: Vec<String>,
    layers_elsewhere: Vec<String>,
    norm_ranks: Option<NormRanks>,
    kind: Kind,
    /// Of all tensors so far.
    bytes: u128,
}

/// The tensors of a model, and the shapes of its inputs and outputs.
#[derive(Debug, Default)]
pub struct ModelInfo {
    /// The parameters, which the optimizer changes.
    pub params: Vec<NamedTensor>,
    /// The buffers, which the model itself changes.
    pub buffers: Vec<NamedTensor>,
    /// The layers whose outputs can be requested.
    pub layers: Vec<LayerOutput>,
    /// The parts between which it can be split, in order; empty if it cannot.
    pub units: Vec<Unit>,
    /// Parameters that more than one unit uses.
    pub shared: Vec<Shared>,
    /// Copies of parameters whose own unit was not made, for the units that use them too. Their values are to be filled in.
    pub copies: Vec<NamedTensor>,
    /// The names of parameters and buffers whose unit was not made.
    pub elsewhere: Vec<String>,
    /// The names of layers whose unit was not made.
    pub layers_elsewhere: Vec<String>,
    /// The ranks that its batch norms take their statistics from; `None` without batch norms.
    pub norm_ranks: Option<NormRanks>,
    /// The shape of one input sample.
    pub input_shape: Vec<i64>,
    /// The shape of one output sample.
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
            made: BuiltUnits::All,
            units: Vec::new(),
            shared: Vec::new(),
            copies: Vec::new(),
            elsewhere: Vec::new(),
            layers_elsewhere: Vec::new(),
            norm_ranks: None,
            kind: Kind::Float,
            bytes: 0,
        }
    }

    /// An empty list for those units of a model that the context wants.
    pub fn of(context: &ModelContext, init: &Init) -> Self {
        let (made, kind) = (context.made.clone(), context.kind);
        Self { made, kind, ..Self::new(context.device, init.clone()) }
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
        let copy = Initializer::Zeros.values(shape, self.device)?.f_set_requires_grad(true)?;
        self.copies.push(NamedTensor::new(param.to_owned(), copy.shallow_clone()));
        Ok(copy)
    }

    /// Whether the current unit is made.
    pub(super) fn is_made(&self) -> bool {
        self.units.len().checked_sub(1).is_none_or(|unit| self.made.has(unit))
    }

    /// Rejects a model that does not fit into memory before it is drawn: each tensor alone may fit.
    fn count(&mut self, name: &str, shape: &[i64]) -> Result<()> {
        let sides = shape.iter().map(|side| u128::from(side.unsigned_abs()));
        let number = self.kind.elt_size_in_bytes() as u128;
        let bytes = sides.fold(number, u128::saturating_mul);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.device != Device::Cpu {
            return Ok(());
        }
        memory::check("", format!("the parameters up to `{name}`"), self.bytes)
    }

    /// Where a layer stores its output; the same one for the same name.
    pub fn layer(&mut self, path: &str) -> LayerOutput {
        if !self.is_made() {
            self.layers_elsewhere.push(path.to_owned());
            return LayerOutput::new(path);
        }
        let known = self.layers.iter().find(|layer| layer.name() == path).cloned();
        known.unwrap_or_else(|| {
            let layer = LayerOutput::new(path);
            self.layers.push(layer.clone());
            layer
        })
    }

    /// A matrix or kernel, initialized as configured; `own` is the layer's default.
    pub fn weight(
        &mut self,
        name: String,
        shape: &[i64],
        fans: Fans,
        own: Initializer,
    ) -> Result<Tensor> {
        let initializer = self.init.initializer(fans).unwrap_or(own);
        self.param(name, shape, initializer)
    }

    /// A bias: 0 if an initialization is configured.
    pub fn bias(
        &mut self,
        name: String,
        size: i64,
        fans: Fans,
        own: Initializer,
    ) -> Result<Tensor> {
        let initializer = self.init.initializer(fans).map_or(own, |_| Initializer::Zeros);
        self.param(name, &[size], initializer)
    }

    /// Any other parameter, such as a norm's.
    pub fn param(
        &mut self,
        name: String,
        shape: &[i64],
        initializer: Initializer,
    ) -> Result<Tensor> {
        if let Some(unit) = self.units.last_mut() {
            unit.params = unit.params.saturating_add(numbers(shape));
            unit.tensors += 1;
        }
        if self.is_made() {
            self.count(&name, shape)?;
        } else {
            self.elsewhere.push(name.clone());
        }
        if self.made == BuiltUnits::None {
            return Ok(Tensor::new());
        }
        let tensor = initializer.values(shape, self.device)?.f_set_requires_grad(true)?;
        if !self.is_made() {
            return Ok(Tensor::new());
        }
        self.params.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// A buffer, which the model changes and not the optimizer.
    pub fn buffer(
        &mut self,
        name: String,
        shape: &[i64],
        initializer: Initializer,
    ) -> Result<Tensor> {
        if let Some(unit) = self.units.last_mut() {
            unit.buffers = unit.buffers.saturating_add(numbers(shape));
        }
        if !self.is_made() {
            self.elsewhere.push(name);
            return Ok(Tensor::new());
        }
        self.count(&name, shape)?;
        let tensor = initializer.values(shape, self.device)?;
        self.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// A counter that begins at 0.
    pub fn counter(&mut self, name: String) -> Result<Tensor> {
        if !self.is_made() {
            self.elsewhere.push(name);
            return Ok(Tensor::new());
        }
        let tensor = Tensor::f_zeros([0_i64; 0], (Kind::Int64, self.device))?;
        self.buffers.push(NamedTensor::new(name, tensor.shallow_clone()));
        Ok(tensor)
    }

    /// The ranks whose rows the batch norms of this model normalize by: the same for all of them.
    pub fn norm_ranks(&mut self) -> NormRanks {
        self.norm_ranks.get_or_insert_default().clone()
    }

    /// The description of the finished model, with the shapes of an input and an output sample.
    pub fn finish(self, input_shape: &[i64], output_shape: &[i64]) -> ModelInfo {
        ModelInfo {
            params: self.params,
            buffers: self.buffers,
            layers: self.layers,
            units: self.units,
            shared: self.shared,
            copies: self.copies,
            elsewhere: self.elsewhere,
            layers_elsewhere: self.layers_elsewhere,
            norm_ranks: self.norm_ranks,
            input_shape: input_shape.to_vec(),
            output_shape: output_shape.to_vec(),
        }
    }
}

fn numbers(shape: &[i64]) -> usize {
    let sides = shape.iter().map(|side| usize::try_from(*side).unwrap_or(0));
    sides.fold(1, usize::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_that_are_too_many_together_are_refused_before_the_last_is_drawn() {
        let mut builder = ParamBuilder::new(Device::Cpu, Init::default());
        let _ = builder.param("a".into(), &[2], Initializer::Zeros).unwrap();
        // More than any machine has, though each would fit.
        builder.bytes = 1 << 80;
        let error = builder.param("b".into(), &[4], Initializer::Zeros).unwrap_err();
        let wanted = "the parameters up to `b`: 1208925819614629174706192 bytes are needed, more than this machine has";
        assert_eq!(error.to_string(), wanted);
        assert!(builder.buffer("c".into(), &[1 << 62, 1 << 62], Initializer::Zeros).is_err());
        assert_eq!(builder.finish(&[], &[]).params.len(), 1);
    }
}

//! Measures the cost of a model's units: passes over made-up samples before training.

use std::time::Instant;

use tch::{Kind, Tensor};

use super::engine::Engine;
use super::error::{EngineError, Result};
use super::model::{Mode, Unit};
use super::named_tensor::tensor_list;
use hookrack_torch::allocator::Allocated;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::{foreach, rng};

/// The fastest of this many passes is used: slower ones were disturbed.
const PASSES: usize = 3;

/// The cost of a unit of the model for a micro-batch.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitCost {
    /// Seconds of a forward pass.
    pub forward: f64,
    /// Seconds of a backward pass.
    pub backward: f64,
    /// Bytes of its output.
    pub output: usize,
    /// Bytes that its forward pass leaves for its backward pass, with the output and without the input.
    pub activations: usize,
}

impl Engine {
    /// The units that the model can be split into.
    ///
    /// # Errors
    /// It cannot be split.
    pub fn units(&self) -> Result<&[Unit]> {
        let units = &self.model().info().units;
        if units.is_empty() || self.model().is_graph() {
            Err(EngineError::NoUnits)
        } else {
            Ok(units)
        }
    }

    /// Measures a forward and a backward pass of each unit on `rows` samples in the shape of the data, without side effects: random
    /// numbers, buffers and gradients are restored.
    ///
    /// # Errors
    /// The model cannot be split, or does not run on such samples.
    pub fn unit_costs(&mut self, rows: i64) -> Result<Vec<UnitCost>> {
        let random = rng::state(self.device())?;
        let buffers = tensor_list(self.buffers());
        let kept = foreach::clone_detached(&buffers)?;
        let measured = self.measure(rows);
        foreach::copy_(&buffers, &kept)?;
        rng::set_state(&random, self.device())?;
        self.zero_grad()?;
        measured
    }

    fn measure(&self, rows: i64) -> Result<Vec<UnitCost>> {
        let data = self.data();
        let kind = if data.has_tokens() { Kind::Int64 } else { self.kind() };
        let shape = [&[rows], data.input.as_slice()].concat();
        let mut input = Tensor::f_zeros(shape, (kind, self.device()))?;
        let mut costs = Vec::new();
        for unit in 0..self.units()?.len() {
            let (mut output, mut best) = self.pass(unit, &input)?;
            for _ in 1..PASSES {
                let cost;
                (output, cost) = self.pass(unit, &input)?;
                best.forward = best.forward.min(cost.forward);
                best.backward = best.backward.min(cost.backward);
                best.activations = best.activations.min(cost.activations);
            }
            costs.push(best);
            input = output;
        }
        Ok(costs)
    }

    /// The output of a unit, and what both passes cost.
    fn pass(&self, unit: usize, input: &Tensor) -> Result<(Tensor, UnitCost)> {
        let _mode = GradMode::set(true);
        let is_real = input.is_floating_point();
        let input = input.f_detach()?.f_set_requires_grad(is_real)?;
        let (begun, before) = (Instant::now(), Allocated::now());
        let forward =
            |input: &Tensor| self.model().forward_units(unit..unit + 1, input, Mode::Train);
        let output = self.precision().forward(self.device(), &input, forward)?;
        let forward = begun.elapsed().as_secs_f64();
        let bytes = output.numel() * output.kind().elt_size_in_bytes();
        // A unit that passes on a view allocates nothing.
        let activations = before.growth();
        let begun = Instant::now();
        // A unit without parameters at the beginning of a model has no backward pass.
        if output.requires_grad() {
            autograd::backward(&output.f_sum(output.kind())?)?;
        }
        let backward = begun.elapsed().as_secs_f64();
        Ok((output.f_detach()?, UnitCost { forward, backward, output: bytes, activations }))
    }
}

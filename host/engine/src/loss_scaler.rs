//! Loss scaling for fp16: the loss is multiplied before backward, so that small gradients do not vanish.
//!
//! The rule is that of `torch.amp.GradScaler`: a step whose gradients are not finite is skipped and the scale
//! shrinks; after enough consecutive finite steps it grows.

// The settings are one struct for the config, for hooks and for the engine.
pub use hookrack_plugin_api::LossScaling as LossScalerSettings;
use tch::{Kind, Tensor};

use super::error::{EngineError, Result};
use super::named_tensor::NamedTensor;
use super::tensor_shard::SavedTensors;
use hookrack_torch::{TensorList, amp, autograd};

/// What loss scaling did in an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScaling {
    /// What the loss of this iteration was multiplied with.
    pub scale: f64,
    /// Whether the optimizer's step is left out, because a gradient is not finite.
    pub skipped: bool,
    /// Steps left out so far.
    pub skipped_steps: u64,
}

/// The scale and its history.
#[derive(Debug)]
pub struct LossScaler {
    settings: LossScalerSettings,
    scale: f32,
    good_steps: i64,
    skipped: bool,
    skipped_steps: i64,
    // Refilled in each step; keeps its room.
    grads: TensorList,
}

const SCALE: &str = "loss_scaler.scale";
const GOOD_STEPS: &str = "loss_scaler.good_steps";
const SKIPPED_STEPS: &str = "loss_scaler.skipped_steps";

impl LossScaler {
    /// Begins with the first scale.
    pub fn new(settings: LossScalerSettings) -> Self {
        Self {
            settings,
            scale: narrow(settings.scale),
            good_steps: 0,
            skipped: false,
            skipped_steps: 0,
            grads: TensorList::default(),
        }
    }

    /// The loss to differentiate: times the scale, and times `weight`. In 32 bits, where the product fits.
    pub fn scaled(&self, loss: &Tensor, weight: f64) -> Result<Tensor> {
        Ok(loss.f_to_kind(Kind::Float)?.f_mul_scalar(f64::from(self.scale) * weight)?)
    }

    /// Brings the gradients back to their size, looks whether all are finite and sets the next scale.
    /// Waits for the device. `on_any_stage` says whether a gradient is not finite here or in another process.
    pub fn unscale(
        &mut self,
        params: &TensorList,
        on_any_stage: impl FnOnce(bool) -> Result<bool>,
    ) -> Result<LossScaling> {
        let scale = f64::from(self.scale);
        autograd::grads_into(params, &mut self.grads)?;
        let found_inf = amp::unscale_(&self.grads, scale.recip());
        self.grads.clear();
        self.update(on_any_stage(found_inf?)?)?;
        let skipped_steps = self.skipped_steps.unsigned_abs();
        Ok(LossScaling { scale, skipped: self.skipped, skipped_steps })
    }

    /// As [`unscale`](Self::unscale), for a further backward pass of the same step. If its gradients are not finite, the step is
    /// skipped, as after the first pass; otherwise the step is not counted again.
    pub fn unscale_again(&mut self, params: &TensorList) -> Result<LossScaling> {
        let was_skipped = self.skipped;
        let scale = f64::from(self.scale);
        autograd::grads_into(params, &mut self.grads)?;
        let found_inf = amp::unscale_(&self.grads, scale.recip());
        self.grads.clear();
        let is_new = found_inf? && !was_skipped;
        if is_new {
            self.update(true)?;
        }
        let skipped_steps = self.skipped_steps.unsigned_abs();
        Ok(LossScaling { scale, skipped: is_new, skipped_steps })
    }

    fn update(&mut self, found_inf: bool) -> Result<()> {
        self.skipped = found_inf;
        let scale = f64::from(self.scale);
        if found_inf {
            self.skipped_steps += 1;
            self.good_steps = 0;
            self.scale = narrow(scale * self.settings.backoff);
            return if self.scale.is_normal() { Ok(()) } else { Err(EngineError::LossScale) };
        }
        self.good_steps += 1;
        if self.good_steps.unsigned_abs() >= self.settings.interval {
            self.good_steps = 0;
            let grown = narrow(scale * self.settings.growth);
            if grown.is_finite() {
                self.scale = grown;
            }
        }
        Ok(())
    }

    /// Whether the last gradients were not finite.
    pub fn skipped(&self) -> bool {
        self.skipped
    }

    /// What a checkpoint keeps.
    pub fn state(&self) -> [NamedTensor; 3] {
        [
            NamedTensor::new(SCALE, Tensor::from(self.scale)),
            NamedTensor::new(GOOD_STEPS, Tensor::from(self.good_steps)),
            NamedTensor::new(SKIPPED_STEPS, Tensor::from(self.skipped_steps)),
        ]
    }

    /// Restores what [`state`](Self::state) returned. A state without it, that of a run in another precision,
    /// leaves the scaler unchanged.
    pub fn load_state(&mut self, state: &dyn SavedTensors) -> Result<()> {
        let number = |name: &str| -> Result<Option<f64>> {
            if state.shape(name).is_none() {
                return Ok(None);
            }
            let unreadable = |why| EngineError::Unreadable { name: name.to_owned(), why };
            let found = state.elements(name, 0..1).map_err(unreadable)?;
            Ok(Some(found.f_double_value(&[0])?))
        };
        let found = (number(SCALE)?, number(GOOD_STEPS)?, number(SKIPPED_STEPS)?);
        if let (Some(scale), Some(good_steps), Some(skipped_steps)) = found {
            self.scale = narrow(scale);
            (self.good_steps, self.skipped_steps) = (whole(good_steps), whole(skipped_steps));
        }
        Ok(())
    }

    /// Whether a saved tensor is a loss scaler's, of whatever precision the run is.
    pub fn owns(name: &str) -> bool {
        [SCALE, GOOD_STEPS, SKIPPED_STEPS].contains(&name)
    }
}

/// Gradients of true size, kept apart from those of a scaled loss: a backward pass adds to the zeros that replace
/// them.
#[derive(Debug)]
pub(super) struct StashedGrads {
    // Each parameter with a gradient, and what that was.
    kept: Vec<(Tensor, Tensor)>,
}

impl StashedGrads {
    /// Copies the gradients of the parameters and sets them to zero.
    pub(super) fn take(params: &TensorList) -> Result<Self> {
        let _mode = autograd::GradMode::set(false);
        let mut kept = Vec::new();
        for param in params.iter() {
            if let Some(mut grad) = autograd::grad(&param)? {
                let before = grad.f_detach()?.f_mul_scalar(1.0)?;
                let _ = grad.f_zero_()?;
                kept.push((param, before));
            }
        }
        Ok(Self { kept })
    }

    /// Adds them to the gradients computed since.
    pub(super) fn restore(self) -> Result<()> {
        let _mode = autograd::GradMode::set(false);
        for (param, before) in self.kept {
            if let Some(mut grad) = autograd::grad(&param)? {
                let _ = grad.f_add_(&before)?;
            }
        }
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "PyTorch keeps the scale in 32 bits")]
fn narrow(scale: f64) -> f32 {
    scale as f32
}

#[expect(clippy::cast_possible_truncation, reason = "a count of steps, saved as a whole number")]
fn whole(count: f64) -> i64 {
    count as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor_shard::InMemory;
    use hookrack_torch::autograd::GradMode;
    use hookrack_torch::rounding;

    #[derive(serde::Deserialize)]
    struct Golden {
        settings: [f64; 4],
        lr: f64,
        gradients: Vec<[f64; 2]>,
        scales: Vec<f64>,
        growth: Vec<i64>,
        weights: Vec<[f64; 2]>,
    }

    fn settings(golden: &[f64; 4]) -> LossScalerSettings {
        let [scale, growth, backoff, interval] = *golden;
        LossScalerSettings { scale, growth, backoff, interval: whole(interval).unsigned_abs() }
    }

    /// A step of plain gradient descent, as the golden script makes it.
    fn step(scaler: &mut LossScaler, weights: &mut Tensor, gradient: [f64; 2], lr: f64) {
        let params: TensorList = [&*weights].into_iter().collect();
        autograd::clear_grads(&params).unwrap();
        let towards = Tensor::from_slice(&gradient).to_kind(Kind::Float);
        let loss = (&*weights * towards).sum(Kind::Float);
        autograd::backward(&scaler.scaled(&loss, 1.0).unwrap()).unwrap();
        let scaling = scaler.unscale(&params, Ok).unwrap();
        if !scaling.skipped {
            let _no_grad = GradMode::set(false);
            let gradient = weights.grad();
            let _ = weights.f_sub_(&(gradient * lr)).unwrap();
        }
    }

    #[test]
    fn scales_and_weights_are_those_of_pytorchs_grad_scaler() {
        let golden: Golden = serde_json::from_str(include_str!("loss_scaler.golden.json")).unwrap();
        let mut scaler = LossScaler::new(settings(&golden.settings));
        let mut weights = Tensor::from_slice(&[1.0_f32, -1.0]).set_requires_grad(true);
        for (i, gradient) in golden.gradients.iter().enumerate() {
            step(&mut scaler, &mut weights, *gradient, golden.lr);
            assert!((f64::from(scaler.scale) - golden.scales[i]).abs() < 1e-9, "step {i}");
            assert_eq!(scaler.good_steps, golden.growth[i], "step {i}");
            for (j, wanted) in golden.weights[i].iter().enumerate() {
                let found = weights.double_value(&[i64::try_from(j).unwrap()]);
                // In a step: scaled, multiplied, unscaled, times the rate, subtracted.
                rounding::assert_near(found, *wanted, 5 * u32::try_from(i + 1).unwrap());
            }
        }
        assert!(scaler.skipped_steps >= 3, "the golden run overflows");
    }

    #[test]
    fn a_restored_scaler_continues_where_it_was_and_other_states_do_not_matter() {
        let mut scaler = LossScaler::new(LossScalerSettings::default());
        for found_inf in [false, true, false, false] {
            scaler.update(found_inf).unwrap();
        }
        let mut other = LossScaler::new(LossScalerSettings::default());
        other.load_state(&InMemory::new(&scaler.state())).unwrap();
        let seen =
            |scaler: &LossScaler| (scaler.scale.to_bits(), scaler.good_steps, scaler.skipped_steps);
        assert_eq!(seen(&other), seen(&scaler));
        assert_eq!(seen(&other), (32768.0_f32.to_bits(), 2, 1));
        other.load_state(&InMemory::new(&[])).unwrap();
        assert_eq!(seen(&other), seen(&scaler));
        assert!(scaler.state().iter().all(|named| LossScaler::owns(&named.name)));
    }

    #[test]
    fn a_loss_that_is_never_finite_ends_in_an_error_not_in_a_scale_of_nothing() {
        let mut scaler = LossScaler::new(LossScalerSettings::default());
        let outcome = (0..200).try_for_each(|_| scaler.update(true));
        assert!(outcome.unwrap_err().to_string().contains("non-finite gradients"));
    }

    #[test]
    fn a_scale_at_the_end_of_its_range_stays() {
        let top = LossScalerSettings {
            scale: f64::from(f32::MAX),
            interval: 1,
            ..LossScalerSettings::default()
        };
        let mut scaler = LossScaler::new(top);
        scaler.update(false).unwrap();
        assert!(scaler.scale.is_finite());
    }
}

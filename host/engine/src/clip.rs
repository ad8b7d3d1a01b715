//! Gradient clipping by norm and by value, without waiting for the norm's value.

use tch::Tensor;

use super::error::Result;
use super::pipeline::Pipeline;
use hookrack_torch::autograd::{self, GradMode};
use hookrack_torch::{TensorList, foreach};

/// How far gradients may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClipLimits {
    /// The largest norm over all gradients; 0 does not clip.
    pub norm: f64,
    /// Which norm: 2 is the usual one, infinity the largest number.
    pub norm_type: f64,
    /// The largest number, either side of 0; 0 does not clip. It comes after the norm.
    pub value: f64,
}

impl Default for ClipLimits {
    fn default() -> Self {
        Self { norm: 0.0, norm_type: 2.0, value: 0.0 }
    }
}

/// Measures and clips the gradients of a list of parameters.
#[derive(Debug)]
pub struct GradClip {
    limits: ClipLimits,
    // Refilled in each step; keeps its room.
    grads: TensorList,
}

impl GradClip {
    /// Clips to these limits.
    pub fn new(limits: ClipLimits) -> Self {
        Self { limits, grads: TensorList::default() }
    }

    /// Whether a limit is set.
    pub fn is_on(&self) -> bool {
        self.limits.norm > 0.0 || self.limits.value > 0.0
    }

    /// The norm over all gradients, as a 0-dim tensor.
    pub(super) fn norm(
        &mut self,
        params: &TensorList,
        pipeline: Option<&Pipeline>,
    ) -> Result<Tensor> {
        autograd::grads_into(params, &mut self.grads)?;
        let norm = self.total(params, pipeline);
        self.grads.clear();
        norm
    }

    fn total(&self, params: &TensorList, pipeline: Option<&Pipeline>) -> Result<Tensor> {
        let p = self.limits.norm_type;
        match pipeline {
            Some(pipeline) => pipeline.total_norm(params, &self.grads, p),
            None => Ok(foreach::norm(&self.grads, p)?),
        }
    }

    /// Scales all gradients so that their norm is at most its limit, as `torch.nn.utils.clip_grad_norm_` does, then
    /// clamps each element to the limit of the value, as `clip_grad_value_` does. Returns the norm before clipping, if there is
    /// a limit for it.
    pub(super) fn clip(
        &mut self,
        params: &TensorList,
        pipeline: Option<&Pipeline>,
    ) -> Result<Option<Tensor>> {
        let _no_grad = GradMode::set(false);
        autograd::grads_into(params, &mut self.grads)?;
        let clipped = self.clip_grads(params, pipeline);
        self.grads.clear();
        clipped
    }

    fn clip_grads(
        &self,
        params: &TensorList,
        pipeline: Option<&Pipeline>,
    ) -> Result<Option<Tensor>> {
        let ClipLimits { norm: limit, value, .. } = self.limits;
        let mut told = None;
        if limit > 0.0 {
            let norm = self.total(params, pipeline)?;
            let factor = norm.f_add_scalar(1e-6)?.f_reciprocal()?.f_mul_scalar(limit)?;
            foreach::mul_tensor_(&self.grads, &factor.f_clamp_max(1.0)?)?;
            told = Some(norm);
        }
        if value > 0.0 && !self.grads.is_empty() {
            foreach::clamp_(&self.grads, value)?;
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_torch::rounding;

    fn params_with_grads() -> (Vec<Tensor>, TensorList) {
        let leaf = |values: &[f32]| Tensor::from_slice(values).set_requires_grad(true);
        let tensors = vec![leaf(&[1.5]), leaf(&[-2.0]), leaf(&[9.0])];
        // The gradients are 3 and -4; the third has none.
        (tensors[0].square() + tensors[1].square()).backward();
        let list = tensors.iter().collect();
        (tensors, list)
    }

    /// The norm that is told and both gradients afterwards, under these limits.
    fn clipped(norm: f64, norm_type: f64, value: f64) -> (Option<f64>, [f64; 2]) {
        let (tensors, list) = params_with_grads();
        let told = GradClip::new(ClipLimits { norm, norm_type, value }).clip(&list, None).unwrap();
        let grad = |index: usize| tensors[index].grad().double_value(&[0]);
        (told.map(|norm| norm.double_value(&[])), [grad(0), grad(1)])
    }

    /// As `clip_grad_norm_` and `clip_grad_value_` of PyTorch 2.13 on the same gradients.
    #[test]
    fn every_limit_does_what_pytorchs_does() {
        let infinity = f64::INFINITY;
        for (limits, told, grads) in [
            ((1.0, 2.0, 0.0), Some(5.0), [0.6, -0.8]),
            ((3.5, 1.0, 0.0), Some(7.0), [1.5, -2.0]),
            ((2.0, infinity, 0.0), Some(4.0), [1.5, -2.0]),
            ((0.0, 2.0, 3.5), None, [3.0, -3.5]),
            ((2.5, 2.0, 1.75), Some(5.0), [1.5, -1.75]),
            ((6.0, 2.0, 0.0), Some(5.0), [3.0, -4.0]),
            ((0.0, 2.0, 0.0), None, [3.0, -4.0]),
        ] {
            let (found_norm, found) = clipped(limits.0, limits.1, limits.2);
            assert_eq!(found_norm, told, "{limits:?}");
            for (found, wanted) in found.into_iter().zip(grads) {
                // PyTorch adds 1e-6 to the norm of at least 4 that it divides by; the rest is a norm of two, a quotient and a product.
                let off = (found - wanted).abs() / wanted.abs();
                assert!(
                    off <= 1e-6 / 4.0 + rounding::gamma(8),
                    "{limits:?}: {found}, not {wanted}"
                );
            }
        }
    }

    #[test]
    fn no_gradients_at_all_are_fine() {
        let leaf = Tensor::from_slice(&[1.0_f32]).set_requires_grad(true);
        let limits = ClipLimits { norm: 1.0, norm_type: 2.0, value: 1.0 };
        let list: TensorList = [&leaf].into_iter().collect();
        assert!(GradClip::new(limits).clip(&list, None).unwrap().is_some());
    }
}

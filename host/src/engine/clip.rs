//! Gradient clipping by norm, without waiting for the norm's value.

use tch::Tensor;

use super::error::Result;
use crate::torch::autograd::{self, GradMode};
use crate::torch::{TensorList, foreach};

/// Measures and clips the gradients of a list of parameters.
#[derive(Debug)]
pub struct GradClip {
    max_norm: f64,
    // Refilled in each step; keeps its room.
    grads: TensorList,
}

impl GradClip {
    /// Clips to `max_norm`; 0 never clips.
    pub fn new(max_norm: f64) -> Self {
        Self { max_norm, grads: TensorList::default() }
    }

    /// Whether [`clip`](Self::clip) does anything.
    pub fn is_on(&self) -> bool {
        self.max_norm > 0.0
    }

    /// The 2-norm over all gradients, as a 0-dim tensor.
    pub fn norm(&mut self, params: &TensorList) -> Result<Tensor> {
        autograd::grads_into(params, &mut self.grads)?;
        let norm = foreach::norm(&self.grads, 2.0);
        self.grads.clear();
        Ok(norm?)
    }

    /// Scales all gradients so that their norm is at most the limit, as `torch.nn.utils.clip_grad_norm_` does;
    /// gives the norm before.
    pub fn clip(&mut self, params: &TensorList) -> Result<Tensor> {
        let _no_grad = GradMode::set(false);
        autograd::grads_into(params, &mut self.grads)?;
        let norm = foreach::norm(&self.grads, 2.0)?;
        if self.is_on() {
            let factor = (norm.f_add_scalar(1e-6)?.f_reciprocal()?.f_mul_scalar(self.max_norm)?)
                .f_clamp_max(1.0)?;
            foreach::mul_tensor_(&self.grads, &factor)?;
        }
        self.grads.clear();
        Ok(norm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params_with_grads() -> (Vec<Tensor>, TensorList) {
        let leaf = |values: &[f32]| Tensor::from_slice(values).set_requires_grad(true);
        let tensors = vec![leaf(&[1.5]), leaf(&[2.0]), leaf(&[9.0])];
        // The gradients are 3 and 4; the third has none.
        (tensors[0].square() + tensors[1].square()).backward();
        let list = tensors.iter().collect();
        (tensors, list)
    }

    fn grads(tensors: &[Tensor]) -> [f64; 2] {
        [tensors[0].grad().double_value(&[0]), tensors[1].grad().double_value(&[0])]
    }

    #[test]
    fn a_large_norm_is_scaled_down_and_told() {
        let (tensors, list) = params_with_grads();
        let norm = GradClip::new(1.0).clip(&list).unwrap();
        assert!((norm.double_value(&[]) - 5.0).abs() < 1e-6);
        let [first, second] = grads(&tensors);
        assert!((first - 0.6).abs() < 1e-5 && (second - 0.8).abs() < 1e-5);
    }

    #[test]
    fn a_small_norm_and_no_limit_leave_gradients_alone() {
        for limit in [0.0, 6.0] {
            let (tensors, list) = params_with_grads();
            let _ = GradClip::new(limit).clip(&list).unwrap();
            let [first, second] = grads(&tensors);
            assert!((first - 3.0).abs() < 1e-9 && (second - 4.0).abs() < 1e-9);
        }
    }
}

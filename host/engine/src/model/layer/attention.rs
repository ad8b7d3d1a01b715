//! Multi-head self-attention.

use tch::Tensor;

use crate::error::Result;
use crate::model::Mode;
use crate::model::init::{Fans, root};
use crate::model::initializer::Initializer;
use crate::model::param_builder::ParamBuilder;
use hookrack_torch::shape;

/// What is done with queries, keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attention {
    /// Number of heads.
    pub heads: i64,
    /// Mask future positions.
    pub causal: bool,
}

impl Attention {
    /// The attention output, `[batch, positions, width]`, of concatenated queries, keys and values, `[batch, positions, 3 width]`.
    /// `dropout` is the dropout probability of the attention weights.
    pub fn mix(&self, joint: &Tensor, dropout: f64) -> Result<Tensor> {
        let side = |index| shape::side(joint, index).unwrap_or(0);
        let (batch, places, width) = (side(0), side(1), side(2) / 3);
        let split = [batch, places, 3, self.heads, width / self.heads];
        // [3, batch, heads, positions, width of a head]
        let parts = joint.f_view(split)?.f_permute([2, 0, 3, 1, 4])?.f_unbind(0)?;
        let [query, key, value] = parts.as_slice() else { return Ok(joint.shallow_clone()) };
        let mixed = Tensor::f_scaled_dot_product_attention::<&Tensor>(
            query,
            key,
            value,
            None,
            dropout,
            self.causal,
            None,
            false,
        )?;
        Ok(mixed.f_transpose(1, 2)?.f_reshape([batch, places, width])?)
    }
}

/// Attention with its own weights, under the names of `torch.nn.MultiheadAttention`.
#[derive(Debug)]
pub struct SelfAttention {
    in_weight: Tensor,
    in_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    attention: Attention,
    dropout: f64,
}

impl SelfAttention {
    /// Draws the values as PyTorch does; `heads` divides `width`.
    pub fn new(
        builder: &mut ParamBuilder,
        path: &str,
        width: i64,
        attention: Attention,
        dropout: f64,
    ) -> Result<Self> {
        let (fans_in, fans_out) =
            (Fans { into: width, out: 3 * width }, Fans { into: width, out: width });
        let (wide, narrow) = (
            Initializer::Uniform((6.0_f64).sqrt() / root(4 * width)),
            Initializer::Uniform(1.0 / root(width)),
        );
        let name = |name: &str| format!("{path}.{name}");
        let sides = [3 * width, width];
        Ok(Self {
            in_weight: builder.weight(name("in_proj_weight"), &sides, fans_in, wide)?,
            in_bias: builder.bias(name("in_proj_bias"), 3 * width, fans_in, Initializer::Zeros)?,
            out_weight: builder.weight(name("out_proj.weight"), &[width; 2], fans_out, narrow)?,
            out_bias: builder.bias(name("out_proj.bias"), width, fans_out, Initializer::Zeros)?,
            attention,
            dropout,
        })
    }

    /// The output for a batch `[batch, positions, width]`.
    pub fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let dropout = if mode == Mode::Train { self.dropout } else { 0.0 };
        let joint = input.f_linear(&self.in_weight, Some(&self.in_bias))?;
        let mixed = self.attention.mix(&joint, dropout)?;
        Ok(mixed.f_linear(&self.out_weight, Some(&self.out_bias))?)
    }
}

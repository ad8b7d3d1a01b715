//! Layers over rows of tokens: `embedding`, `positional`, `attention`.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Layer, LayerInput, LayerPlan};
use crate::error::Result;
use crate::model::Mode;
use crate::model::layer::{Attention, Embedding, SelfAttention};
use crate::registry::Component;
use hookrack_torch::shape;

/// Embedding of tokens.
#[derive(Debug, Clone, Settings)]
pub(super) struct EmbeddingLayer {
    /// Numbers per token.
    #[param(min = 1)]
    width: i64,
}

impl Component<LayerInput, LayerPlan> for EmbeddingLayer {
    const NAME: &'static str = "embedding";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let found = &at.sample.shape;
        let Some(tokens) = at.sample.tokens else {
            return Err(Self::refuse(format!(
                "it expects tokens, found numbers of shape {found:?}"
            )));
        };
        let shape: Vec<i64> = [found.as_slice(), &[self.width]].concat();
        let path = at.path.clone();
        Ok(LayerPlan::new(at.sample.shaped(shape), move |builder| {
            Embedding::new(builder, &path, tokens, self.width, 1.0)
        }))
    }
}

impl Layer for Embedding {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Self::forward(self, input)
    }
}

/// Learned positional embedding, added to rows.
#[derive(Debug, Clone, Settings)]
pub(super) struct PositionalLayer {}

impl Component<LayerInput, LayerPlan> for PositionalLayer {
    const NAME: &'static str = "positional";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let [positions, width] = at.sample.rows().map_err(Self::refuse)?;
        let path = at.path.clone();
        Ok(LayerPlan::new(at.sample.clone(), move |builder| {
            Ok(Positional(Embedding::new(builder, &path, positions, width, 0.02)?))
        }))
    }
}

/// The layer itself.
#[derive(Debug)]
struct Positional(Embedding);

impl Layer for Positional {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Ok(input.f_add(&self.0.first(shape::side(input, 1).unwrap_or(0))?)?)
    }
}

/// Multi-head self-attention over rows, with the parameter names of `torch.nn.MultiheadAttention`.
#[derive(Debug, Clone, Settings)]
pub(super) struct AttentionLayer {
    /// Number of heads.
    #[param(default = 1, min = 1)]
    heads: i64,
    /// Mask future positions.
    #[param(default)]
    causal: bool,
    /// Dropout probability of the attention weights.
    #[param(default, min = 0.0, max = 1.0)]
    dropout: f64,
}

impl Component<LayerInput, LayerPlan> for AttentionLayer {
    const NAME: &'static str = "attention";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let [_, width] = at.sample.rows().map_err(Self::refuse)?;
        let Self { heads, causal, dropout } = self;
        if width % heads != 0 {
            let found = &at.sample.shape;
            let why = format!("heads = {heads} must divide the width {width} of shape {found:?}");
            return Err(Self::refuse(why));
        }
        let path = at.path.clone();
        Ok(LayerPlan::new(at.sample.clone(), move |builder| {
            SelfAttention::new(builder, &path, width, Attention { heads, causal }, dropout)
        }))
    }
}

impl Layer for SelfAttention {
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        Self::forward(self, input, mode)
    }
}

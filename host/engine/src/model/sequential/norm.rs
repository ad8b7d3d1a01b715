//! The layer `norm`: over the batch, the sample or groups of channels.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Layer, LayerInput, LayerPlan};
use crate::error::Result;
use crate::model::Mode;
use crate::model::layer::{BatchNorm, GroupNorm, LayerNorm};
use crate::registry::Component;

/// Normalization of images and vectors; `layer` also takes rows.
#[derive(Debug, Clone, Settings)]
pub(super) struct NormLayer {
    /// Kind of norm: batch, layer or group.
    #[param(default)]
    kind: NormKind,
    /// Number of groups; only for `group`.
    #[param(min = 1)]
    groups: Option<i64>,
}

/// What the statistics are taken over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Settings)]
pub(super) enum NormKind {
    /// Each channel, over the batch.
    #[default]
    Batch,
    /// The whole image, or each position of a row, in each sample.
    Layer,
    /// A group of channels in each sample.
    Group,
}

impl Component<LayerInput, LayerPlan> for NormLayer {
    const NAME: &'static str = "norm";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        let shape = at.sample.numbers().map_err(Self::refuse)?.to_vec();
        let (output, path) = (at.sample.clone(), at.path.clone());
        if self.kind != NormKind::Group && self.groups.is_some() {
            return Err(Self::refuse("groups requires kind = \"group\": remove it"));
        }
        let (channels, last) = match (shape.as_slice(), self.kind) {
            ([channels] | [channels, _, _], _) => (*channels, shape.clone()),
            ([.., last], NormKind::Layer) => (*last, vec![*last]),
            _ => {
                let why = format!(
                    "it expects [channels] or [channels, rows, columns], found shape {shape:?}; kind = \"layer\" accepts rows"
                );
                return Err(Self::refuse(why));
            }
        };
        let groups = self.groups.unwrap_or(1);
        if channels % groups != 0 {
            let why =
                format!("groups = {groups} must divide the {channels} channels of shape {shape:?}");
            return Err(Self::refuse(why));
        }
        Ok(match self.kind {
            NormKind::Batch => {
                LayerPlan::new(output, move |builder| BatchNorm::new(builder, &path, channels))
            }
            NormKind::Layer => {
                LayerPlan::new(output, move |builder| LayerNorm::new(builder, &path, &last, true))
            }
            NormKind::Group => LayerPlan::new(output, move |builder| {
                GroupNorm::new(builder, &path, channels, groups)
            }),
        })
    }
}

impl Layer for BatchNorm {
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        Self::forward(self, input, mode)
    }
}

impl Layer for LayerNorm {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Self::forward(self, input)
    }
}

impl Layer for GroupNorm {
    fn forward(&self, input: &Tensor, _mode: Mode) -> Result<Tensor> {
        Self::forward(self, input)
    }
}

//! The layer `residual`: layers and a shortcut around them.

use hookrack_plugin_api::prelude::Settings;
use tch::Tensor;

use super::plan::{Check, Layer, LayerInput, LayerPlan, LayerStack, stack};
use crate::error::Result;
use crate::model::Mode;
use crate::model::layer::{Conv2d, Kernel, Linear};
use crate::registry::Component;
use crate::tree::Tree;

/// Residual connection: the input plus the output of its layers; takes any shape.
#[derive(Debug, Clone, Settings)]
pub(super) struct ResidualLayer {
    /// The layers, each a table with its `type`.
    layers: Vec<Tree>,
    /// Project the input to the shape of the output by a 1x1 convolution or a linear layer without bias.
    #[param(default)]
    projection: bool,
}

impl Component<LayerInput, LayerPlan> for ResidualLayer {
    const NAME: &'static str = "residual";

    fn build(self, at: &LayerInput) -> Result<Box<LayerPlan>> {
        if self.layers.is_empty() {
            return Err(Self::refuse("layers is empty: add at least one"));
        }
        at.sample.numbers().map_err(Self::refuse)?;
        let inner = stack(self.layers, &format!("{}.layers", at.path), at.sample.clone())?;
        let (before, after) = (&at.sample.shape, &inner.output.shape);
        let shortcut = shortcut(before, after, self.projection).map_err(Self::refuse)?;
        let path = format!("{}.projection", at.path);
        Ok(LayerPlan::new(inner.output.clone(), move |builder| {
            let inner = inner.make(builder, |_, _| ())?;
            let shortcut: Option<Box<dyn Layer>> = match shortcut {
                Shortcut::Straight => None,
                Shortcut::Conv(kernel) => Some(Box::new(Conv2d::new(builder, &path, kernel)?)),
                Shortcut::Linear([inputs, outputs]) => {
                    Some(Box::new(Linear::with_bias(builder, &path, inputs, outputs, false)?))
                }
            };
            Ok(Residual { inner, shortcut })
        }))
    }
}

/// The shortcut around the layers.
enum Shortcut {
    Straight,
    Conv(Kernel),
    Linear([i64; 2]),
}

fn shortcut(before: &[i64], after: &[i64], projection: bool) -> Check<Shortcut> {
    if before == after && !projection {
        return Ok(Shortcut::Straight);
    }
    let told = format!("its layers turn shape {before:?} into {after:?}");
    if !projection {
        return Err(format!("{told}, which cannot be added: set projection = true"));
    }
    match (before, after) {
        (&[inputs, rows, columns], &[outputs, rows_after, columns_after]) => {
            let kernel = Kernel::same(inputs, outputs, 1, (rows + rows_after - 1) / rows_after);
            let sides = [rows, columns].map(|side| kernel.side_after(side));
            (sides == [rows_after, columns_after])
                .then_some(Shortcut::Conv(kernel))
                .ok_or(format!("{told}, which a 1x1 convolution cannot do"))
        }
        ([head @ .., inputs], [head_after @ .., outputs]) if head == head_after => {
            Ok(Shortcut::Linear([*inputs, *outputs]))
        }
        _ => Err(format!("{told}, which a linear layer cannot do")),
    }
}

/// The layer itself.
#[derive(Debug)]
struct Residual {
    inner: LayerStack,
    shortcut: Option<Box<dyn Layer>>,
}

impl Layer for Residual {
    fn forward(&self, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let inner = self.inner.forward(input, mode)?;
        Ok(match &self.shortcut {
            None => inner.f_add(input)?,
            Some(shortcut) => inner.f_add(&shortcut.forward(input, mode)?)?,
        })
    }
}

//! Outputs of the model's layers.

use super::Trainer;
use crate::describe::{ParamType, Setting};
use crate::error::Result;
use crate::tensor::Tensor;
use crate::value::Value;
use serde::de::{Deserialize, Deserializer};

/// A layer of the model whose output is kept. It consists of a number and a name: keep it in a field for the
/// whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    index: usize,
    name: String,
}

impl Layer {
    /// Returns its name: the part of its parameters' names before `.weight`, such as `layer1.0.conv1`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A setting that selects layers by a pattern. After [`watch`](Self::watch) in `on_attach` it can be
/// iterated: `for layer in &self.layers { … }`.
///
/// ```
/// # use hookrack_plugin_api::prelude::*;
/// # #[derive(Settings)]
/// # struct Norms {
/// #[param(default = "*")]
/// layers: Layers,
/// # }
/// # #[hook]
/// # impl Hook for Norms {
/// fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
///     self.layers.watch(t)
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Layers {
    pattern: String,
    watched: Vec<Layer>,
}

impl Layers {
    /// Selects the layers that match the pattern, as [`Trainer::watch_layers`]. A second call selects anew;
    /// layers selected before stay watched.
    ///
    /// # Errors
    /// As for [`Trainer::watch_layers`].
    pub fn watch(&mut self, t: &mut Trainer) -> Result<()> {
        self.watched = t.watch_layers(&self.pattern)?;
        Ok(())
    }

    /// Returns the selected layers, outer ones first; none before [`watch`](Self::watch).
    pub fn iter(&self) -> std::slice::Iter<'_, Layer> {
        self.watched.iter()
    }
}

impl<'a> IntoIterator for &'a Layers {
    type Item = &'a Layer;
    type IntoIter = std::slice::Iter<'a, Layer>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<&str> for Layers {
    fn from(pattern: &str) -> Self {
        Self { pattern: pattern.to_owned(), watched: Vec::new() }
    }
}

impl<'de> Deserialize<'de> for Layers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

impl Setting for Layers {
    fn param_type() -> ParamType {
        ParamType::Str
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Str(self.pattern.clone()))
    }
}

/// Outputs of the model's layers (extension `hookrack.layers/1`). A host before ABI 1.2 returns an error.
impl Trainer {
    /// Keeps the outputs of all layers whose names match `pattern`, from the next forward pass on, and
    /// returns these layers, outer ones first.
    ///
    /// Call it in `on_attach`. In a pattern `*` matches any characters, including dots, `?` one, `{a,b}`
    /// either and `[ab]` one of them: `layers.*`, `layer?.0.conv1`. Names are those of PyTorch's modules. An
    /// output that is kept occupies its memory until the iteration ends, and an activation after it is not
    /// computed in place; other layers cost nothing. A layer is watched until the run ends. In a pipeline the
    /// layers are those of this rank's stage, and there may be none.
    ///
    /// # Errors
    /// No layer of the model matches (the message has the nearest names), the pattern is not valid, or the model runs as
    /// one graph: TorchScript, `train.mode = "graph"`.
    pub fn watch_layers(&mut self, pattern: &str) -> Result<Vec<Layer>> {
        let indices = self.host.watch_layers(pattern)?;
        let layer = |index| Ok(Layer { index, name: self.host.layer_name(index)? });
        indices.into_iter().map(layer).collect()
    }

    /// Returns the output of a layer in the last forward pass of this iteration; with micro-batches, of the
    /// last one that ran. Not a copy.
    ///
    /// Gradients flow through it as through the model's output. The last pass may also be one of a hook, such
    /// as [`model`](Self::model) or [`forward_in`](Self::forward_in). The handle belongs to the caller, stays
    /// valid after the iteration, and keeps the output and its graph alive: drop it, or keep a detached copy.
    /// The output is read-only, because the model continues to use the same memory: an operator that would
    /// change it in place is an error, whatever `mutates` declares.
    ///
    /// # Errors
    /// No forward pass has run yet in this iteration, or it did not reach the layer.
    pub fn layer_output(&self, layer: &Layer) -> Result<Tensor> {
        match self.host.layer_output(layer.index)? {
            Some(id) => Ok(Tensor::owned(self.host, id)),
            None => crate::bail!("layer `{}` has no output in this iteration", layer.name),
        }
    }
}

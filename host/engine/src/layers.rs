//! Outputs of layers by name.

use tch::Tensor;

use super::engine::Engine;
use super::error::{EngineError, Result};
use super::model::LayerOutput;
use super::name_pattern::NamePattern;

impl Engine {
    /// The model's layers whose outputs can be requested, each before those inside it.
    pub fn layers(&self) -> &[LayerOutput] {
        &self.model().info().layers
    }

    /// Keeps the outputs of all layers whose names match, from the next forward pass on; returns their indices among
    /// [`layers`](Self::layers).
    ///
    /// # Errors
    /// No layer matches, or the model has no layer outputs.
    pub fn watch_layers(&self, pattern: &str) -> Result<Vec<usize>> {
        let layers = self.layers();
        if self.model().is_graph() || layers.is_empty() {
            return Err(EngineError::NoLayers);
        }
        let pattern = NamePattern::parse(pattern)?;
        let is_meant = |(_, layer): &(usize, &LayerOutput)| pattern.matches(layer.name());
        let found: Vec<_> = layers.iter().enumerate().filter(is_meant).collect();
        if found.is_empty() {
            return Err(pattern.no_layer(layers.iter().map(LayerOutput::name)));
        }
        for (_, layer) in &found {
            layer.want();
        }
        Ok(found.into_iter().map(|(index, _)| index).collect())
    }

    /// The output of a layer in the last forward pass; `None` before one, or if it was not requested.
    pub fn layer_output(&self, index: usize) -> Option<Tensor> {
        self.layers().get(index)?.output()
    }

    /// Releases all kept outputs.
    pub fn clear_layer_outputs(&self) {
        self.layers().iter().for_each(LayerOutput::clear);
    }
}

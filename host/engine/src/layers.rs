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
    /// [`layers`](Self::layers). In a stage of a pipeline there may be none: those that match are layers of other stages.
    ///
    /// # Errors
    /// No layer of the whole model matches, or the model has no layer outputs.
    pub fn watch_layers(&self, pattern: &str) -> Result<Vec<usize>> {
        let (layers, elsewhere) = (self.layers(), &self.model().info().layers_elsewhere);
        if self.model().is_graph() || (layers.is_empty() && elsewhere.is_empty()) {
            return Err(EngineError::NoLayers);
        }
        let pattern = NamePattern::parse(pattern)?;
        let is_meant = |(_, layer): &(usize, &LayerOutput)| pattern.matches(layer.name());
        let found: Vec<_> = layers.iter().enumerate().filter(is_meant).collect();
        if found.is_empty() && !elsewhere.iter().any(|name| pattern.matches(name)) {
            let elsewhere = elsewhere.iter().map(String::as_str);
            return Err(pattern.no_layer(layers.iter().map(LayerOutput::name).chain(elsewhere)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSpec, Target};
    use crate::registry::Choice;
    use crate::schedule::Layout;
    use crate::stage::Stage;

    /// A GPT of one block: all of it, or a stage with the embedding and the block, or with the head.
    fn engine(stage: Option<u32>) -> Engine {
        let layout = Layout { stages: 2, micros: 2, chunks: 1, tied: true };
        let sizes = [("layers", 1_i64.into()), ("heads", 1_i64.into()), ("width", 4_i64.into())];
        Engine::builder()
            .model(Choice::new("GPT", &sizes))
            .optimizer(Choice::new("SGD", &[("lr", 0.1.into())]))
            .stage(stage.map(|number| Stage::new(number, layout, &[0..2, 2..3])))
            .build(&DataSpec { input: vec![3], target: Target::Tokens(5) })
            .unwrap()
    }

    #[test]
    fn a_stage_has_none_of_the_layers_of_others_and_a_layer_of_no_stage_is_refused() {
        let (first, last) = (engine(Some(0)), engine(Some(1)));
        let elsewhere = last.layers()[0].name();
        assert_eq!(last.watch_layers(elsewhere).unwrap(), [0]);
        assert_eq!(first.watch_layers(elsewhere).unwrap(), [0; 0]);
        assert_eq!(first.watch_layers("*").unwrap().len(), first.layers().len());
        for engine in [engine(None), first, last] {
            let error = engine.watch_layers("nothing").unwrap_err();
            assert!(matches!(error, EngineError::NoLayer { .. }), "{error}");
        }
    }
}

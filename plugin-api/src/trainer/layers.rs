//! Outputs of the model's layers.

use super::Trainer;
use crate::error::Result;
use crate::tensor::Tensor;

/// A layer whose output is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    index: usize,
    name: String,
}

impl Layer {
    /// Its name: what stands before `.weight` in the names of its parameters, such as `layer1.0.conv1`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Outputs of the model's layers: the extension `hookrack.layers/1`, which an older host answers with an error.
impl Trainer {
    /// Has the outputs of all layers kept whose names match `pattern`, from the next forward pass on, and gives these layers,
    /// one before those inside it. Ask in `on_attach`. In a pattern `*` is any run of letters, dots too: `layers.*`,
    /// `layer?.0.conv1`. Names are those of PyTorch's modules. What nobody asks for costs nothing; what is kept costs its
    /// memory until the iteration ends.
    ///
    /// # Errors
    /// No layer is named so (the nearest names are told), or the model runs as one graph: TorchScript, `train.mode = "graph"`.
    pub fn watch_layers(&mut self, pattern: &str) -> Result<Vec<Layer>> {
        let indices = self.host.watch_layers(pattern)?;
        let layer = |index| Ok(Layer { index, name: self.host.layer_name(index)? });
        indices.into_iter().map(layer).collect()
    }

    /// The output of a layer in the last forward pass of this iteration, whoever made it: at `after_forward` that of the
    /// micro-batch in progress, after the last one still that of the last. Gradients flow through it as through the
    /// model's output. No copy.
    ///
    /// # Errors
    /// There was no forward pass yet, or it did not reach the layer.
    pub fn layer_output(&self, layer: &Layer) -> Result<Tensor> {
        match self.host.layer_output(layer.index)? {
            Some(id) => Ok(Tensor::owned(self.host, id)),
            None => crate::bail!("layer `{}` has given no output in this iteration", layer.name),
        }
    }
}

//! `ActivationNorms`: looks into any built-in model, by the names of its layers.

use hookrack_plugin_api::prelude::*;

/// Puts the norm of each layer's output, as `hook/<instance>/<layer>`.
#[derive(Settings)]
pub struct ActivationNorms {
    /// Which layers, such as `layer1.*`; all of them unless set.
    #[param(default = "*")]
    layers: String,
    #[param(skip)]
    watched: Vec<(Layer, ScalarKey)>,
}

#[hook(writes = "events")]
impl Hook for ActivationNorms {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        for layer in t.watch_layers(&self.layers)? {
            let key = t.scalar_key(&format!("@{}", layer.name()), true)?;
            self.watched.push((layer, key));
        }
        Ok(())
    }

    fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
        for (layer, key) in &self.watched {
            t.put(*key, t.layer_output(layer)?.norm()?.item()?)?;
        }
        Ok(())
    }
}

export_plugin! { hooks: [ActivationNorms] }

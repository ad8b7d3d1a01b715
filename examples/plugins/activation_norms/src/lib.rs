//! `ActivationNorms`: reads the layer outputs of any built-in model by name.

use hookrack_plugin_api::prelude::*;

/// Logs the norm of each layer's output as `hook/<instance>/<layer>`.
#[derive(Settings)]
pub struct ActivationNorms {
    /// Pattern of layer names, such as `layer1.*`. Default: all.
    #[param(default = "*")]
    layers: Layers,
}

#[hook(writes = "events")]
impl Hook for ActivationNorms {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        self.layers.watch(t)
    }

    fn after_forward(&mut self, t: &mut Trainer) -> Result<()> {
        for layer in &self.layers {
            t.put_scalar(&format!("@{}", layer.name()), t.layer_output(layer)?.norm()?.item()?)?;
        }
        Ok(())
    }
}

export_plugin! { hooks: [ActivationNorms] }

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::FakeTrainer;

    #[test]
    fn the_norm_of_each_matching_layer_is_logged() -> Result<()> {
        let mut t = FakeTrainer::new()
            .layer("conv1", [3.0, 4.0])
            .layer("fc", [5.0, 12.0])
            .hook::<ActivationNorms>(settings! { layers = "fc*" })?;
        t.train_iter()?;
        assert_eq!(t.scalar("hook/ActivationNorms/fc"), Some(13.0));
        assert_eq!(t.scalar("hook/ActivationNorms/conv1"), None);
        Ok(())
    }
}

//! `GradualUnfreezing`: the last layer is trained first, then one more every few epochs.

use hookrack_plugin_api::prelude::*;

/// Trains the last layers first and unfreezes one more layer, from the last to the first, every few epochs.
#[derive(Settings)]
pub(super) struct GradualUnfreezing {
    /// Number of layers trained in the first epoch.
    #[param(default = 1, min = 1)]
    layers: usize,
    /// Epochs between unfreezing one layer and the next.
    #[param(default = 1, min = 1)]
    interval: u64,
    #[param(skip)]
    free: Option<usize>,
}

/// A parameter's layer: its name without the last part.
fn layer(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(layer, _)| layer)
}

/// The layers of a model, in its order, each once.
fn layers(names: &[String]) -> Vec<&str> {
    let mut layers: Vec<&str> = Vec::new();
    for layer in names.iter().map(|name| layer(name)) {
        if !layers.contains(&layer) {
            layers.push(layer);
        }
    }
    layers
}

/// The number of layers trained in an epoch, of `all`.
fn free_layers(epoch: u64, first: usize, interval: u64, all: usize) -> usize {
    let more = usize::try_from(epoch.saturating_sub(1) / interval).unwrap_or(usize::MAX);
    first.saturating_add(more).min(all)
}

#[hook(level = HIGHER, mutates = "params")]
impl Hook for GradualUnfreezing {
    fn before_train_epoch(&mut self, t: &mut Trainer) -> Result<()> {
        let names = t.param_names()?;
        let all = layers(&names);
        let free = free_layers(t.epoch(), self.layers, self.interval, all.len());
        if self.free == Some(free) {
            return Ok(());
        }
        let learning = &all[all.len() - free..];
        // Unfreezes first: the engine does not allow freezing the last parameter.
        for learns in [true, false] {
            for name in names.iter().filter(|name| learning.contains(&layer(name)) == learns) {
                t.set_trainable(name, learns)?;
            }
        }
        info!("epoch {}: {free} of {} layers are trainable", t.epoch(), all.len());
        self.free = Some(free);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_layer_learns_after_each_interval() {
        let free: Vec<_> = (1..=7).map(|epoch| free_layers(epoch, 1, 2, 3)).collect();
        assert_eq!(free, [1, 1, 2, 2, 3, 3, 3]);
        assert_eq!(free_layers(1, 9, 1, 3), 3);
    }

    #[test]
    fn a_layer_is_what_its_parameters_share() {
        let names = ["a.weight", "a.bias", "b.c.weight", "scale"].map(String::from);
        assert_eq!(layers(&names), ["a", "b.c", "scale"]);
    }
}

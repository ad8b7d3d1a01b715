//! `WeightHistogramHook`: histograms of the parameters.

use hookrack_plugin_api::prelude::*;

/// Logs a histogram of each parameter, and optionally of its gradient, every few epochs, for writers that show
/// histograms.
#[derive(Settings)]
pub(super) struct WeightHistogramHook {
    /// Number of bins.
    #[param(default = 64, min = 1, max = 65536)]
    bins: usize,
    /// Also log the gradients of the epoch's last iteration.
    #[param(default = true)]
    grads: bool,
    #[param(skip)]
    names: Vec<String>,
}

impl WeightHistogramHook {
    fn is_due(t: &Trainer) -> bool {
        let is_last = t.inner_iter() == t.inner_len() || t.iter() == t.max_iters();
        is_last && t.is_media_wanted()
    }

    fn put(&self, t: &mut Trainer, scope: &str, of: fn(&Trainer) -> Tensors<'_>) -> Result<()> {
        for (index, name) in self.names.iter().enumerate() {
            let tensor = of(t).at(index).filter(|tensor| !tensor.is_absent());
            if let Some(tensor) = tensor {
                t.put_histogram(&format!("{scope}/{name}"), &tensor, self.bins)?;
            }
        }
        Ok(())
    }
}

#[hook(level = 21, every = "1ep", reads = "params, grads", writes = "events")]
impl Hook for WeightHistogramHook {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> {
        self.names = t.param_names()?;
        Ok(())
    }

    fn before_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        let is_due = self.grads && Self::is_due(t);
        if is_due { self.put(t, "grads", Trainer::grads) } else { Ok(()) }
    }

    fn after_optimizer_step(&mut self, t: &mut Trainer) -> Result<()> {
        if Self::is_due(t) { self.put(t, "params", Trainer::params) } else { Ok(()) }
    }
}

//! `FocalLoss`: a loss of your own, in training and evaluation; the config needs no `[loss]`.

use hookrack_plugin_api::prelude::*;

/// Trains with the focal loss, which reduces the weight of well classified samples (arXiv 1708.02002).
#[derive(Settings)]
pub struct FocalLoss {
    /// Focusing parameter; 0 is cross entropy.
    #[param(default = 2.0, min = 0.0)]
    gamma: f64,
}

#[hook(mutates = "output, loss", writes = "nothing")]
impl Hook for FocalLoss {
    fn on_iter_forward(&mut self, t: &mut Trainer) -> Result<()> {
        t.forward_with_loss(|output, label| {
            let log_p = output.log_softmax(1)?.gather(1, &label.unsqueeze(1)?)?;
            ((1.0 - log_p.exp()?)?.pow(self.gamma)? * log_p)?.mean()?.neg()
        })
    }
}

export_plugin! { hooks: [FocalLoss] }

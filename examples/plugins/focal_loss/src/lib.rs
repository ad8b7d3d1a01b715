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

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::FakeTrainer;

    #[test]
    fn a_well_classified_sample_has_less_weight_and_gamma_0_is_cross_entropy() -> Result<()> {
        for (gamma, wanted) in [(0.0, 2.0_f64.ln()), (2.0, 0.25 * 2.0_f64.ln())] {
            let mut t = FakeTrainer::new()
                .output([[0.0, 0.0]])
                .label([1_i64])
                .hook::<FocalLoss>(settings! { gamma = gamma })?;
            t.fire(Point::OnTrainForward)?;
            assert!(t.current_loss().is_some_and(|loss| (loss - wanted).abs() < 1e-6));
        }
        Ok(())
    }
}

//! `Distillation`: a second model, built from a table of the config, beside the one that is trained.

use hookrack_plugin_api::prelude::*;

/// Adds the divergence from a teacher's softened scores to the configured loss (arXiv 1503.02531).
#[derive(Settings)]
pub struct Distillation {
    /// The teacher, a table like `[model]`; `weights` is the path of its weights.
    teacher: SecondModel,
    /// Temperature of the softmax.
    #[param(default = 2.0, min = 0.01)]
    temperature: f64,
    /// Weight of the teacher's term in the loss.
    #[param(default = 0.5, min = 0.0, max = 1.0)]
    alpha: f64,
}

#[hook(mutates = "output, loss", writes = "nothing")]
impl Hook for Distillation {
    fn on_attach(&mut self, t: &mut Trainer) -> Result<()> {
        self.teacher.build(t)
    }

    fn on_train_forward(&mut self, t: &mut Trainer) -> Result<()> {
        t.forward()?;
        t.criterion()?;
        let soft = |scores: Tensor| (scores / self.temperature)?.log_softmax(1);
        let (student, teacher) = (soft(t.output()?)?, soft(self.teacher.forward(&t.input()?)?)?);
        let distance = (student.kl_div(&teacher)? * self.temperature.powi(2))?;
        t.set_loss(&t.loss()?.lerp(&distance, self.alpha)?)
    }
}

export_plugin! { hooks: [Distillation] }

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::FakeTrainer;

    #[test]
    fn the_loss_is_between_the_configured_one_and_the_distance_from_the_teacher() -> Result<()> {
        let mut t = FakeTrainer::new()
            .input([[0.0, 0.0]])
            .output([[1.0, 1.0]])
            .loss(3.0)
            .second_model(|input| Ok(input.map(|x| x + 5.0)))
            .hook::<Distillation>(settings! { teacher = Value::Table(Vec::new()), alpha = 0.25 })?;
        t.fire(Point::OnTrainForward)?;
        // Teacher and student are as sure of both classes: they are at no distance.
        assert!(t.current_loss().is_some_and(|loss| (loss - 2.25).abs() < 1e-6));
        Ok(())
    }
}

//! `AdversarialTraining`: gradients of the loss with respect to the input, with any model and loss.

use hookrack_plugin_api::prelude::*;

/// Trains on inputs that are moved to where the loss is higher, by the sign of its gradient (arXiv 1412.6572).
#[derive(Settings)]
pub struct AdversarialTraining {
    /// How far each number of the input is moved.
    #[param(default = 0.03, min = 0.0)]
    epsilon: f64,
}

#[hook(mutates = "output, loss", writes = "nothing")]
impl Hook for AdversarialTraining {
    fn on_train_forward(&mut self, t: &mut Trainer) -> Result<()> {
        let x = t.input()?.clone_detached()?;
        x.requires_grad_(true)?;
        let loss = t.criterion_of(&t.model(&x)?, &t.label()?)?;
        let grads = t.gradients(&loss, [&x])?;
        let moved = (x.detach()? + (grads[0].sign()? * self.epsilon)?)?;
        t.set_output(&t.model(&moved)?)?;
        t.criterion()
    }
}

export_plugin! { hooks: [AdversarialTraining] }

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::{FakeTensor, FakeTrainer};

    #[test]
    fn the_loss_is_that_of_the_input_moved_uphill() -> Result<()> {
        // The loss is the square of the only input, its gradient twice the input.
        let mut t = FakeTrainer::new()
            .input([-3.0])
            .label([0_i64])
            .criterion(|output, _| Ok(output.map(|x| x * x)))
            .gradients(|_, inputs| Ok(inputs.iter().map(|x| x.map(|x| 2.0 * x)).collect()))
            .hook::<AdversarialTraining>(settings! { epsilon = 0.5 })?;
        t.fire(Point::OnTrainForward)?;
        assert_eq!(t.current_loss(), Some(12.25));
        Ok(())
    }

    #[test]
    fn without_a_function_for_the_gradients_the_error_says_what_is_missing() -> Result<()> {
        let t = FakeTrainer::new().input(FakeTensor::from([1.0])).label([0_i64]);
        let mut t = t.hook::<AdversarialTraining>(settings! {})?;
        let error = t.fire(Point::OnTrainForward).unwrap_err().to_string();
        assert!(error.contains("give it a function with FakeTrainer::gradients"), "{error}");
        Ok(())
    }
}

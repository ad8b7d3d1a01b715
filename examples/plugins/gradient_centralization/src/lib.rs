//! `GradientCentralization`: changes gradients before they are clipped.

use hookrack_plugin_api::prelude::*;

/// Subtracts the mean from each gradient, separately for every output of a layer (arXiv 2004.01461).
#[derive(Settings)]
pub struct GradientCentralization;

#[hook(mutates = "grads", writes = "nothing")]
impl Hook for GradientCentralization {
    fn before_clip_grad(&mut self, t: &mut Trainer) -> Result<()> {
        for grad in t.grads().present() {
            if grad.dim()? > 1 {
                grad.sub_(grad.mean_dim(&grad.dims(1)?, true)?)?;
            }
        }
        Ok(())
    }
}

export_plugin! { hooks: [GradientCentralization] }

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_plugin_api::settings;
    use hookrack_plugin_api::testing::FakeTrainer;

    #[test]
    fn rows_of_a_matrix_lose_their_mean_and_a_vector_stays() -> Result<()> {
        let mut t = FakeTrainer::new()
            .param("weight", [[0.0, 0.0], [0.0, 0.0]])
            .param("bias", [0.0, 0.0])
            .param("frozen", [0.0])
            .grad("weight", [[1.0, 3.0], [-2.0, 4.0]])
            .grad("bias", [1.0, 3.0])
            .lr(1.0)
            .hook::<GradientCentralization>(settings! {})?;
        t.train_iter()?;
        assert_eq!(t.weights("weight")?, [1.0, -1.0, 3.0, -3.0]);
        assert_eq!((t.weights("bias")?, t.weights("frozen")?), (vec![-1.0, -3.0], vec![0.0]));
        Ok(())
    }
}

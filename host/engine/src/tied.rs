//! A tied parameter, used by two stages of a pipeline: the first stage owns it, the last one has a copy and sends back its gradient after
//! each micro-batch.

use tch::Tensor;

use super::engine::Engine;
use super::error::{EngineError, Result};
use super::schedule::{Message, MicroPart, Payload};
use super::stage_channel::Expected;
use hookrack_torch::TensorList;
use hookrack_torch::autograd::{self, GradMode};

impl Engine {
    /// The parameter of this stage of which the last stage has a copy.
    pub(super) fn tied_param(&self) -> Option<Tensor> {
        let shared = self.model().info().shared.first()?;
        let own = self.params().iter().find(|param| param.name == shared.param);
        own.map(|param| param.tensor.shallow_clone())
    }

    /// Updates the last stage's copy of a tied parameter. A step, a hook or a checkpoint may have changed the parameter.
    ///
    /// # Errors
    /// Another rank failed or timed out.
    pub fn share_tied(&self) -> Result<()> {
        let Some(pipeline) = self.pipeline.as_ref().filter(|it| it.stage().layout.tied) else {
            return Ok(());
        };
        let _mode = GradMode::set(false);
        let (stage, part) = (pipeline.stage(), MicroPart { micro: 0, chunk: 0 });
        let message = |peer| Message { payload: Payload::Tied, part, peer };
        if stage.number == 0 {
            let param = self.tied_param().ok_or(EngineError::NoStage)?;
            let last = stage.layout.stages - 1;
            return pipeline.with_channel(|channel| channel.send(message(last), part, &param));
        }
        if !stage.is_last() {
            return Ok(());
        }
        let copy = &self.model().info().copies.first().ok_or(EngineError::NoStage)?.tensor;
        let (shape, kind) = (copy.size(), copy.kind());
        let value = pipeline.with_channel(|channel| {
            channel.expect([Expected { message: message(0), shape, kind }])?;
            channel.recv(message(0))
        })?;
        copy.f_detach()?.f_copy_(&value)?;
        Ok(())
    }

    /// Returns and clears the gradient of the last stage's copy of a tied parameter, for one micro-batch.
    pub(super) fn take_tied_grad(&self) -> Result<Tensor> {
        let copy = self.model().info().copies.first().ok_or(EngineError::NoStage)?;
        let grad = autograd::grad(&copy.tensor)?;
        autograd::clear_grads(&TensorList::from_iter([&copy.tensor]))?;
        grad.map_or_else(|| Ok(copy.tensor.f_detach()?.f_zeros_like()?), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSpec, Target};
    use crate::registry::Choice;
    use crate::schedule::Layout;
    use crate::stage::Stage;
    use crate::two_ranks::on_two_ranks;
    use hookrack_torch::dist::Group;
    use tch::Kind;

    /// A stage of a GPT of one block, connected to the other: the embedding and the block, or the head.
    fn stage(group: Group) -> Engine {
        let layout = Layout { stages: 2, micros: 2, chunks: 1, tied: true };
        let number = u32::try_from(group.rank()).unwrap();
        let size = ["layers", "heads"].map(|key| (key, 1_i64.into()));
        let mut engine = Engine::builder()
            .model(Choice::new("GPT", &[size[0].clone(), size[1].clone(), ("width", 4_i64.into())]))
            .optimizer(Choice::new("SGD", &[("lr", 0.1.into())]))
            .stage(Some(Stage::new(number, layout, &[0..2, 2..3])))
            .build(&DataSpec { input: vec![3], target: Target::Tokens(5) })
            .unwrap();
        engine.join_pipeline(group).unwrap();
        engine
    }

    /// The parameter on the first stage, its copy on the last one.
    fn tied(engine: &Engine) -> Tensor {
        let copy = || engine.model().info().copies[0].tensor.shallow_clone();
        engine.tied_param().unwrap_or_else(copy)
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        Vec::try_from(tensor.detach().flatten(0, -1)).unwrap()
    }

    #[test]
    fn the_copy_of_a_tied_parameter_follows_every_change() {
        let [first, last] = on_two_ranks(|group| {
            let engine = stage(group);
            let joined = numbers(&tied(&engine));
            if let Some(param) = engine.tied_param() {
                let _ = param.detach().fill_(0.5);
            }
            engine.share_tied().unwrap();
            engine.finish_sends().unwrap();
            (joined, numbers(&tied(&engine)))
        });
        assert_eq!(first, last);
        assert!(first.0.iter().any(|number| *number != 0.0), "{first:?}");
        assert_eq!(last.1, [0.5; 20]);
    }

    #[test]
    fn the_gradient_of_the_copy_is_that_of_one_micro_batch() {
        on_two_ranks(|group| {
            let is_last = group.rank() == 1;
            let engine = stage(group);
            if is_last {
                let copy = tied(&engine);
                for factor in [2.0_f32, 3.0] {
                    autograd::backward(&(&copy * f64::from(factor)).sum(Kind::Float)).unwrap();
                    assert_eq!(numbers(&engine.take_tied_grad().unwrap()), [factor; 20]);
                }
                assert_eq!(numbers(&engine.take_tied_grad().unwrap()), [0.0; 20]);
            } else {
                assert!(engine.take_tied_grad().is_err(), "the owner has no copy");
            }
        });
    }
}

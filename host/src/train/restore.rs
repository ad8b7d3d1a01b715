//! Taking a checkpoint up again.

use super::fit::{Result, Trainer};
use crate::engine::{EngineError, NamedTensor};
use crate::plugins::{HookState, give_back};
use crate::run::RunDirError;
use crate::run::checkpoint::Checkpoint;
use hookrack_plugin_api::Point;
use tch::Tensor;

fn named(tensors: Vec<(String, Tensor)>) -> Vec<NamedTensor> {
    tensors.into_iter().map(|(name, tensor)| NamedTensor { name, tensor }).collect()
}

impl Trainer {
    /// Has the run begin with a checkpoint's weights, optimizer and hook states.
    pub fn resume_from(&mut self, checkpoint: Checkpoint) {
        self.checkpoint = Some(checkpoint);
    }

    /// Puts the checkpoint back, if there is one, and tells the hooks.
    pub(super) fn restore(&mut self) -> Result<()> {
        let Some(checkpoint) = self.checkpoint.take() else { return Ok(()) };
        let restored = self.restore_engine(
            checkpoint.model,
            checkpoint.optimizer,
            checkpoint.position.lr_position,
        );
        self.step(restored)?;
        let position = checkpoint.position;
        self.context.advance(|p| {
            (p.epoch, p.iter, p.inner_iter) = (position.epoch, position.iter, position.inner_iter);
            p.samples = position.samples;
        });
        let nothing = HookState::default();
        for attached in self.rack.hooks_mut() {
            let state = checkpoint.hooks.get(&attached.seat.name).unwrap_or(&nothing);
            if state.is_empty() {
                continue;
            }
            give_back(&self.context, state, |reader| attached.instance.load_state(reader))
                .map_err(|why| RunDirError::HookState {
                    doing: "take back",
                    hook: attached.seat.name.clone(),
                    why,
                })?;
        }
        self.fire(Point::AfterLoadCheckpoint)
    }

    fn restore_engine(
        &mut self,
        model: Vec<(String, Tensor)>,
        optimizer: Vec<(String, Tensor)>,
        lr_position: u64,
    ) -> std::result::Result<(), EngineError> {
        let mut engine = self.context.engine.borrow_mut();
        engine.load_model_state(&named(model))?;
        engine.optimizer_mut().load_state(&named(optimizer))?;
        engine.set_lr_position(lr_position);
        let lr = engine.lr();
        drop(engine);
        self.context.advance(|p| p.lr = lr);
        Ok(())
    }
}

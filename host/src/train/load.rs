//! Loads the checkpoint that a hook requested at `before_train`.

use super::fit::{Result, Trainer};
use super::restore::Resume;
use crate::engine::{EngineError, InMemory, NamedTensor};
use crate::run::RunDirError;
use crate::run::checkpoint;
use hookrack_plugin_api::Point;
use std::path::PathBuf;

impl Trainer {
    /// Loads the requested checkpoint, if any.
    pub(super) fn load_if_requested(&mut self) -> Result<()> {
        let Some(request) = self.context.requests.borrow_mut().load.take() else { return Ok(()) };
        let own = self.run.as_ref().map(|run| run.path().to_owned());
        let path = if request.path.as_os_str().is_empty() { own } else { Some(request.path) };
        let path = path.ok_or_else(|| RunDirError::NoCheckpoint { path: PathBuf::new() })?;
        let checkpoint = checkpoint::choose(&path, &request.wanted)?;
        if !request.weights_only {
            self.resume_from(Resume { checkpoint, force: false, with_optimizer: true });
            return self.restore();
        }
        let model = checkpoint.model.all()?.into_iter();
        let model = model.map(|(name, tensor)| NamedTensor { name, tensor }).collect();
        let loaded = self.load_weights(model, request.strict);
        self.locate(loaded)?;
        self.fire(Point::AfterLoadCheckpoint)
    }

    fn load_weights(
        &mut self,
        mut model: Vec<NamedTensor>,
        strict: bool,
    ) -> std::result::Result<(), EngineError> {
        let mut engine = self.context.engine.borrow_mut();
        if !strict {
            let own = engine.model_state();
            let fits = |new: &NamedTensor, old: &NamedTensor| {
                new.name == old.name && new.tensor.size() == old.tensor.size()
            };
            model.retain(|new| own.iter().any(|old| fits(new, old)));
            let left: Vec<_> =
                own.into_iter().filter(|old| !model.iter().any(|new| fits(new, old))).collect();
            for tensor in &left {
                tracing::warn!(
                    "`{}` keeps its initial values: the checkpoint has no matching ones",
                    tensor.name
                );
            }
            model.extend(left);
        }
        engine.load_model_state(&InMemory::new(&model))
    }
}

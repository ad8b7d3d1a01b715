//! Gathers everything that a checkpoint keeps, from all parts of the run.

use super::fit::{Result, Trainer};
use crate::dispatch::Attached;
use crate::engine::NamedTensor;
use crate::engine::SavedState;
use crate::plugins::{StateFailure, gather};
use crate::run::checkpoint::{Checkpoint, Facts, Position};
use crate::run::{RunDirError, to_json};
use crate::torch::rng;
use hookrack_plugin_api::OnError;
use std::collections::BTreeMap;
use tch::Tensor;

pub(super) fn pairs(tensors: Vec<NamedTensor>) -> Vec<(String, Tensor)> {
    tensors.into_iter().map(|named| (named.name, named.tensor)).collect()
}

impl Trainer {
    /// Everything that a checkpoint keeps. Its tensors are handles to the live ones.
    pub(super) fn capture(&mut self) -> Result<Checkpoint> {
        let mut facts = self.facts()?;
        let hooks = self.hook_states(&mut facts.without)?;
        let device = self.context.engine.borrow().device();
        let rng = rng::state(device).map_err(crate::engine::EngineError::from);
        let rng = self.locate(rng)?;
        let engine = self.context.engine.borrow();
        Ok(Checkpoint {
            model: pairs(engine.model_state()),
            optimizer: pairs(engine.optimizer_state()),
            engine: engine.state(),
            hooks,
            rng,
            facts,
        })
    }

    fn facts(&self) -> Result<Facts> {
        let context = &self.context;
        let requests = context.requests.borrow();
        let lr_position = context.engine.borrow().lr_position();
        let shared = context.states.borrow();
        // Sorted, so that the same run writes the same file.
        let shared: BTreeMap<_, _> = shared.iter().map(|(k, v)| (k.clone(), to_json(v))).collect();
        Ok(Facts {
            position: Position {
                validate: requests.validate,
                drawn: Some(self.loaders.train.position()),
                ..Position::of(&context.progress.get(), lr_position, self.stage)
            },
            without: Vec::new(),
            savers: if requests.validate { requests.savers().to_vec() } else { Vec::new() },
            metrics: context.metrics.borrow().save(),
            events: context.events.borrow().save(),
            shared: shared.into_iter().collect(),
            writers: context.writers.borrow_mut().marks()?,
            provenance: self.provenance.clone(),
        })
    }

    /// The states of all hooks and metrics. One that cannot save its state is dealt with by its error policy, and is among
    /// `without` then.
    fn hook_states(&mut self, without: &mut Vec<String>) -> Result<BTreeMap<String, SavedState>> {
        let mut states = Vec::new();
        // What was switched off is not called again, not even for its state: it may have panicked.
        for attached in self.rack.hooks_mut().iter_mut().filter(|attached| !attached.disabled) {
            let name = attached.seat.name.clone();
            match gather(&self.context, |writer| attached.instance.save_state(writer)) {
                Ok(state) if state.is_empty() => {}
                Ok(state) => states.push((name, state)),
                Err(failure) => {
                    state_not_saved(attached, failure)?;
                    without.push(name);
                }
            }
        }
        self.note_held(states.iter().map(|(name, state)| (name, state)));
        Ok(states.into_iter().collect())
    }
}

/// Applies the hook's error policy to a state that it could not save: under `abort` there is no checkpoint, else
/// there is one without that state.
fn state_not_saved(attached: &mut Attached, failure: StateFailure) -> Result<()> {
    let policy = attached.seat.on_error;
    attached.disabled = failure.panicked || policy == OnError::Disable;
    let error = RunDirError::HookState { hook: attached.seat.name.clone(), why: failure.why };
    if policy == OnError::Abort {
        return Err(error.into());
    }
    let then = if attached.disabled {
        "it is disabled for the rest of the run"
    } else {
        "it stays enabled"
    };
    tracing::warn!(
        "{error}; {then}, and the checkpoint is written without its state (on_error = \"{}\")",
        policy.name()
    );
    Ok(())
}

//! Collects everything that is saved in a checkpoint.

use super::fit::{Result, Trainer};
use crate::dispatch::{Attached, FailureKind};
use crate::engine::SavedState;
use crate::plugins::{StateFailure, gather};
use crate::run::checkpoint::{Captured, Checkpoint, CheckpointState, Position};
use crate::run::{RunDirError, to_json};
use crate::torch::rng::{self, RngState};
use std::collections::BTreeMap;

impl Trainer {
    /// Everything that a checkpoint keeps of the whole run, beside what each rank [owns](Self::owned). Its tensors are handles to the
    /// live ones.
    pub(super) fn capture(&mut self, mut rng: Vec<RngState>) -> Result<Captured> {
        let mut state = self.state()?;
        let (hooks, without) = self.hook_states()?;
        state.without = without;
        let rank_rng = rng.split_off(rng.len().min(1));
        let rng = rng.pop().unwrap_or_default();
        let engine = self.context.engine.borrow();
        Ok(Checkpoint {
            model: (),
            optimizer: (),
            engine: engine.state(),
            hooks,
            hook_tensors: (),
            rng,
            rank_rng,
            state,
        })
    }

    /// The states of the random number generators of all ranks, in order. A collective: every rank calls it.
    pub(super) fn random_states(&self) -> Result<Vec<RngState>> {
        let device = self.context.engine.borrow().device();
        let own = self.locate(rng::state(device))?;
        let Some(world) = self.context.world.get() else { return Ok(vec![own]) };
        let all = self.locate(world.exchange_json(&(&own.cpu, &own.cuda)))?;
        Ok(all.into_iter().map(|(cpu, cuda)| RngState { cpu, cuda }).collect())
    }

    fn state(&self) -> Result<CheckpointState> {
        let context = &self.context;
        let requests = context.requests.borrow();
        let lr_position = context.engine.borrow().lr_position();
        let shared = context.states.borrow();
        // Sorted, so that the same run writes the same file.
        let shared: BTreeMap<_, _> = shared.iter().map(|(k, v)| (k.clone(), to_json(v))).collect();
        Ok(CheckpointState {
            position: Position {
                validate: requests.validate,
                drawn: Some(self.loaders.train.position()),
                ..Position::of(&context.progress.get(), lr_position, self.epoch.stage)
            },
            without: Vec::new(),
            savers: if requests.validate { requests.savers().to_vec() } else { Vec::new() },
            metrics: context.metrics.borrow().save(),
            events: context.events.borrow().save(),
            shared: shared.into_iter().collect(),
            writers: context.writers.borrow_mut().marks()?,
            provenance: self.saving.provenance.clone(),
        })
    }

    /// The states of all hooks and metrics, and the names of those that could not save theirs: their error policy applies.
    pub(super) fn hook_states(&mut self) -> Result<(BTreeMap<String, SavedState>, Vec<String>)> {
        let (mut states, mut without) = (Vec::new(), Vec::new());
        // A disabled hook is not called again, not even for its state: it may have panicked.
        for attached in self.rack.hooks_mut().iter_mut().filter(|attached| !attached.disabled) {
            let name = attached.spec.name.clone();
            match gather(&self.context, |writer| attached.instance.save_state(writer)) {
                Ok(state) if state.is_empty() => {}
                Ok(state) => states.push((name, state)),
                Err(failure) => {
                    state_not_saved(attached, failure)?;
                    without.push(name);
                }
            }
        }
        self.record_saved(states.iter().map(|(name, state)| (name, state)));
        Ok((states.into_iter().collect(), without))
    }
}

/// Applies the error policy of a hook that could not save its state: under `abort` no checkpoint is written, otherwise
/// it is written without that state.
fn state_not_saved(attached: &mut Attached, failure: StateFailure) -> Result<()> {
    let error = RunDirError::HookState { hook: attached.spec.name.clone(), why: failure.why };
    let kind = if failure.panicked { FailureKind::Panic } else { FailureKind::Error };
    let consequence = ", and the checkpoint is written without its state";
    attached.apply_policy(error, kind, false, consequence)?;
    Ok(())
}

//! What the ranks agree on at the boundaries of the loop: whether to stop, save or validate, and which signal arrived, so that no rank waits
//! for one that has left.

use super::error::TrainError;
use super::fit::{Result, Trainer};
use super::interrupt::Signal;
use crate::dispatch::Attached;
use crate::engine::EngineError;
use crate::torch::TorchError;
use crate::world::World;
use hookrack_plugin_api::OnRanks;
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// What the hooks of a rank have requested.
#[derive(Serialize, Deserialize)]
struct HookRequests {
    stop: Option<(String, String)>,
    savers: Vec<String>,
    validate: bool,
    // Hooks of all ranks that have failed here and are not called again.
    disabled: Vec<String>,
}

impl Trainer {
    fn world(&self) -> Option<Rc<World>> {
        self.context.world.get().map(Rc::clone)
    }

    /// The signal that ends the run: of several ranks, once all know of it.
    pub(super) fn signal(&self) -> Option<Signal> {
        if self.context.world.get().is_some() { self.agreed } else { self.interrupt.received() }
    }

    /// Combines the requests and signals of all ranks: one on any rank applies to all.
    pub(super) fn agree(&mut self) -> Result<()> {
        let Some(world) = self.world() else { return Ok(()) };
        self.check_limits();
        let requested = self.hook_requests();
        let flags = [requested.stop.is_some(), !requested.savers.is_empty(), requested.validate]
            .map(i64::from);
        let [stop, save, validate] = flags;
        let (off, met) = (i64::try_from(requested.disabled.len()).unwrap_or(0), world.sync_count());
        let signal = self.interrupt.received().map_or(0, Signal::code);
        let busy = i64::from(self.saving.background.is_writing_part());
        let own = [signal, met, busy, stop, -stop, save, -save, validate, -validate, off, -off];
        let [signal, met, busy, most @ ..] = self.locate(world.agree(own))?;
        self.agreed = Signal::from_code(signal);
        self.locate(world.catch_up(met))?;
        let is_same = most.chunks(2).all(|pair| pair[0] == -pair[1]);
        if !is_same {
            self.merge_requests(&world, &requested)?;
        }
        // No rank writes any more, and each of those that did has a part.
        if busy == 0 { self.complete_part(&world) } else { Ok(()) }
    }

    /// Combines the signals of all ranks.
    pub(super) fn agree_on_signals(&mut self) -> Result<()> {
        let Some(world) = self.world() else { return Ok(()) };
        let agreed = world.agree([self.interrupt.received().map_or(0, Signal::code)]);
        let [signal] = self.locate(agreed)?;
        self.agreed = Signal::from_code(signal);
        Ok(())
    }

    fn hook_requests(&self) -> HookRequests {
        let requests = self.context.requests.borrow();
        HookRequests {
            stop: requests.stopped().map(|stop| (stop.who.clone(), stop.why.clone())),
            savers: requests.savers().to_vec(),
            validate: requests.validate,
            disabled: self.disabled().map(|it| it.spec.name.clone()).collect(),
        }
    }

    /// The hooks of all ranks that are not called any more.
    fn disabled(&self) -> impl Iterator<Item = &Attached> {
        let is_meant = |it: &&Attached| it.disabled && it.spec.ranks == OnRanks::All;
        self.rack.hooks().iter().filter(is_meant)
    }

    fn merge_requests(&mut self, world: &World, requested: &HookRequests) -> Result<()> {
        let all: Vec<HookRequests> = self.locate(world.exchange_json(requested))?;
        let mut requests = self.context.requests.borrow_mut();
        for (rank, requested) in all.into_iter().enumerate() {
            if let Some((who, why)) = requested.stop {
                let why = if rank == world.ranks().rank {
                    why
                } else {
                    format!("{why} (on rank {rank})")
                };
                requests.stop(&who, &why);
            }
            requested.savers.iter().for_each(|who| requests.save(who));
            requests.validate |= requested.validate;
            for name in &requested.disabled {
                self.rack.disable(name, rank);
            }
        }
        Ok(())
    }

    /// Determines whether an error was caused by another rank, and reports it to the others if it was not. This rank then leaves: a rank that waits for
    /// it fails immediately, not at the timeout.
    pub(super) fn blame(&mut self, error: TrainError) -> TrainError {
        let Some(world) = self.world() else { return error };
        let of_torch = match &error {
            TrainError::Step { why: EngineError::Torch(why), .. } => Some(why.clone()),
            // A role returns the error of the engine.
            TrainError::Hook(error) if error.point.is_role() => {
                Some(TorchError::new(&error.message))
            }
            _ => None,
        };
        let error = if let Some(why) = of_torch.filter(TorchError::is_of_peers) {
            TrainError::Rank(world.name_failure(&why))
        } else if let TrainError::Hook(error) = &error
            && world.is_of_peers(&error.message)
        {
            TrainError::Rank(error.to_string())
        } else {
            world.report_failure(&error.reason());
            error
        };
        self.leave_groups();
        world.leave_groups();
        error
    }

    /// Waits for the other ranks after closing points: if one has failed there, the run has failed on all of them.
    pub(super) fn await_others(&self) -> Result<()> {
        let Some(world) = self.world() else { return Ok(()) };
        self.locate(world.agree([0]).map(drop))
    }

    /// Waits for the other ranks after the last point, and reports a failure to them that they do not know of.
    pub(super) fn end_together(&mut self, outcome: Result<()>) -> Result<()> {
        let is_known = !self.context.failure.borrow().is_empty();
        let outcome = outcome.and_then(|()| self.await_others());
        outcome.map_err(|error| if is_known { error } else { self.blame(error) })
    }

    /// Leaves the groups of the engine, with everything that is on its way in them.
    fn leave_groups(&self) {
        self.context.shares.cancel_pending();
        self.context.engine.borrow_mut().leave_groups();
    }

    /// Ends the run with the others, or without them.
    pub(super) fn leave_ranks(&mut self, is_well: bool) {
        let Some(world) = self.world() else { return };
        self.leave_groups();
        if is_well { world.finish() } else { self.leave_with_costs(&world) }
    }
}

//! What happens at a point of a fake run: metrics first, then hooks in their order.

use super::rules::ForwardHolder;
use super::{Attached, FakeTrainer, Measured, failed};
use crate::error::{Error, Result};
use crate::phase::Phase;
use crate::point::{Pace, Point as P};
use std::rc::Rc;

/// Points.
impl FakeTrainer {
    /// Calls the hooks of a point whose cadence is due, with the configured batch and gradients. Hooks are attached before
    /// their first other point. The iteration is 0, in which every hook is due, until [`at`](Self::at) sets another one. A role without a hook does what the host's main hook does.
    ///
    /// # Errors
    /// The error of the first hook that fails, with its name and the point.
    pub fn fire(&mut self, point: P) -> Result<()> {
        if point != P::OnAttach {
            self.attach()?;
        }
        if point.pace() == Pace::Iter {
            self.world.borrow_mut().fill_slots();
        }
        if point.is_role() { self.role(point) } else { self.reach(point) }
    }

    pub(super) fn attach(&mut self) -> Result<()> {
        if self.is_attached {
            return Ok(());
        }
        self.is_attached = true;
        self.reach(P::OnAttach)
    }

    pub(super) fn reach_all(&mut self, points: &[P]) -> Result<()> {
        points.iter().try_for_each(|point| self.reach(*point))
    }

    pub(super) fn reach(&mut self, point: P) -> Result<()> {
        self.is_attached |= point == P::OnAttach;
        self.reached.push(point);
        self.measure(point)?;
        self.due(point).into_iter().try_for_each(|hook| self.call(hook, point))
    }

    /// The hooks of a point whose cadence includes this occurrence, in the order in which they are called.
    fn due(&self, point: P) -> Vec<&Attached> {
        let progress = self.world.borrow().progress.get();
        let is_training = Phase::from_code(progress.phase) == Phase::Train;
        let iter = if is_training { progress.iter } else { progress.inner_iter };
        let is_due = |hook: &&Attached| {
            let is_due = hook.every.is_due(point.pace(), progress.epoch, iter);
            is_due && hook.points.contains(&point)
        };
        let mut due: Vec<_> = self.hooks.iter().filter(is_due).collect();
        if point.is_reversed() {
            due.reverse();
        }
        due
    }

    fn call(&self, hook: &Attached, point: P) -> Result<()> {
        let called = hook.instance.on_point(point);
        called.map_err(|error| failed(&format!("hook `{}`", hook.name), point, &self.world, &error))
    }

    /// Calls every hook of a point, even if one fails; the first error is kept.
    pub(super) fn close(&mut self, point: P, outcome: Result<()>) -> Result<()> {
        self.reached.push(point);
        let mut first = outcome;
        for hook in self.due(point) {
            first = first.and(self.call(hook, point));
        }
        first
    }

    /// The hook with a role: the specific one, or for a forward pass the general one.
    fn holder(&self, role: P) -> Option<(&Attached, P)> {
        let general = [P::OnTrainForward, P::OnValForward, P::OnPredForward].contains(&role);
        let roles = [Some(role), general.then_some(P::OnIterForward)];
        roles.into_iter().flatten().find_map(|role| {
            self.hooks.iter().find(|hook| hook.points.contains(&role)).map(|hook| (hook, role))
        })
    }

    pub(super) fn role(&mut self, role: P) -> Result<()> {
        self.reached.push(role);
        if let Some((hook, called_as)) = self.holder(role) {
            let called = hook.instance.on_point(called_as);
            return called.map_err(|error| {
                failed(&format!("hook `{}`", hook.name), role, &self.world, &error)
            });
        }
        let mut world = self.world.borrow_mut();
        match role {
            P::OnPredForward => world.forward(),
            P::OnTrainForward | P::OnValForward | P::OnIterForward => {
                world.forward()?;
                if world.phase() == Phase::Pred { Ok(()) } else { world.compute_loss() }
            }
            P::OnIterBackward => world.backward(),
            P::OnOptimizerStep => world.optimizer_step(),
            _ => Ok(()),
        }
    }

    /// Lets hooks run the forward role of another.
    pub(super) fn set_forward_role(&mut self) {
        let holder = self.holder(P::OnTrainForward);
        let role = holder.map(|(hook, called_as)| {
            let (name, instance) = (hook.name, Rc::clone(&hook.instance));
            Rc::new(ForwardHolder { name, called_as, instance })
        });
        self.world.borrow_mut().forward_role = role;
    }

    /// What metrics do at a point, before the hooks.
    fn measure(&mut self, point: P) -> Result<()> {
        let phase = self.world.borrow().phase();
        let (reset, update, compute) = match phase {
            Phase::Train => (P::BeforeTrainEpoch, P::AfterTrainIter, P::AfterTrainEpoch),
            Phase::Val => (P::BeforeValEpoch, P::AfterValIter, P::AfterValEpoch),
            Phase::Test => (P::BeforeTestEpoch, P::AfterTestIter, P::AfterTestEpoch),
            Phase::Pred => (P::BeforePredEpoch, P::AfterPredIter, P::AfterPredEpoch),
        };
        let failed = |metric: &Measured, error: &Error| {
            failed(&format!("metric `{}`", metric.name), point, &self.world, error)
        };
        for metric in &self.metrics {
            if point == reset {
                metric.instance.reset().map_err(|error| failed(metric, &error))?;
            } else if point == update || point == compute {
                self.read(metric, phase, point == update)
                    .map_err(|error| failed(metric, &error))?;
            }
        }
        Ok(())
    }

    /// Updates a metric with a batch, or reads its values of the whole pass.
    fn read(&self, metric: &Measured, phase: Phase, is_step: bool) -> Result<()> {
        if is_step {
            metric.instance.update()?;
        }
        let values = metric.instance.values(is_step)?;
        let mut world = self.world.borrow_mut();
        for (suffix, value) in values {
            let dot = if suffix.is_empty() { "" } else { "." };
            let name = format!("{}{dot}{suffix}", metric.name);
            let (step, epoch) = if is_step { (value, f64::NAN) } else { (f64::NAN, value) };
            world.put_metric(phase, &name, metric.better, step, epoch);
            if !is_step || phase == Phase::Train {
                let key = world.scalar_key(format!("{}/{name}", phase.name()), false)?;
                world.put(key, value)?;
            }
        }
        Ok(())
    }
}

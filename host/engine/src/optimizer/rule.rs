//! What every optimizer shares: groups, state, and a rule that steps one group.

use super::state::{Start, fresh, named};
use super::{Group, Optimizer};
use crate::error::Result;
use crate::named_tensor::{NamedTensor, load};
use hookrack_torch::TensorList;
use hookrack_torch::autograd::GradMode;
use hookrack_torch::optim::Active;

/// How a group of parameters with `N` kinds of state is stepped.
pub(super) trait Rule<const N: usize>: Send {
    /// Each kind of state: its name in a saved file and how it starts.
    fn kinds(&self) -> [(&'static str, Start); N];

    /// Changes the parameters that have a gradient, and their state.
    fn step(&mut self, group: &Group, states: &mut [TensorList; N]) -> Result<()>;

    /// Restores the state of all groups; `live` is what [`ByRule::state`] returns.
    fn load(
        &self,
        live: &[NamedTensor],
        _groups: &[Group],
        _states: &mut [[TensorList; N]],
        saved: &[NamedTensor],
    ) -> Result<()> {
        load("optimizer", live, saved)
    }
}

/// A rule made of list operators.
pub(super) trait ListRule<const N: usize>: Send {
    /// As in [`Rule`].
    fn kinds(&self) -> [(&'static str, Start); N];

    /// Changes the parameters that have a gradient, and their state. Gradients are not recorded.
    fn step(&self, group: &Group, now: &Active<N>) -> Result<()>;
}

/// The rule of a [`ListRule`].
#[derive(Debug)]
pub(super) struct Listed<R, const N: usize> {
    rule: R,
    active: Active<N>,
}

impl<R: ListRule<N>, const N: usize> Rule<N> for Listed<R, N> {
    fn kinds(&self) -> [(&'static str, Start); N] {
        self.rule.kinds()
    }

    fn step(&mut self, group: &Group, states: &mut [TensorList; N]) -> Result<()> {
        let _no_grad = GradMode::set(false);
        let any = self.active.gather(&group.list, states)?;
        let stepped = if any { self.rule.step(group, &self.active) } else { Ok(()) };
        self.active.clear();
        stepped
    }
}

/// An optimizer that follows a rule.
#[derive(Debug)]
pub(super) struct ByRule<R, const N: usize> {
    rule: R,
    groups: Vec<Group>,
    states: Vec<[TensorList; N]>,
}

impl<R: ListRule<N>, const N: usize> ByRule<Listed<R, N>, N> {
    /// An optimizer of list operators, with fresh state.
    pub(super) fn of_lists(rule: R, groups: Vec<Group>) -> Result<Self> {
        Self::new(Listed { rule, active: Active::default() }, groups)
    }
}

impl<R: Rule<N>, const N: usize> ByRule<R, N> {
    /// Starts with fresh state.
    pub(super) fn new(rule: R, groups: Vec<Group>) -> Result<Self> {
        let states = groups.iter().map(|group| fresh_states(&rule, &group.params));
        let states = states.collect::<Result<_>>()?;
        Ok(Self { rule, groups, states })
    }
}

fn fresh_states<R: Rule<N>, const N: usize>(
    rule: &R,
    params: &[NamedTensor],
) -> Result<[TensorList; N]> {
    let mut states = std::array::from_fn(|_| TensorList::default());
    for (state, (_, start)) in states.iter_mut().zip(rule.kinds()) {
        *state = fresh(params, start)?;
    }
    Ok(states)
}

impl<R: Rule<N>, const N: usize> Optimizer for ByRule<R, N> {
    fn step(&mut self) -> Result<()> {
        let mut pairs = self.groups.iter().zip(&mut self.states);
        pairs.try_for_each(|(group, states)| self.rule.step(group, states))
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn groups_mut(&mut self) -> &mut [Group] {
        &mut self.groups
    }

    fn admit(&mut self) -> Result<()> {
        for (group, states) in self.groups.iter_mut().zip(&mut self.states) {
            let fresh = fresh_states(&self.rule, &group.admit())?;
            states.iter_mut().zip(&fresh).for_each(|(state, fresh)| state.extend(fresh.iter()));
        }
        Ok(())
    }

    fn state(&self) -> Vec<NamedTensor> {
        let names = self.rule.kinds().map(|(name, _)| name);
        let pairs = self.groups.iter().zip(&self.states);
        pairs
            .flat_map(|(group, states)| {
                let kinds: Vec<_> = names.into_iter().zip(states).collect();
                named(&group.params, &kinds)
            })
            .collect()
    }

    fn load_state(&mut self, state: &[NamedTensor]) -> Result<()> {
        self.rule.load(&self.state(), &self.groups, &mut self.states, state)
    }
}

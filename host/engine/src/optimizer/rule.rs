//! What the optimizers made of list operators share: groups, state, and a rule that changes one group.

use super::state::{Start, fresh, named};
use super::{Group, Optimizer};
use crate::error::Result;
use crate::named_tensor::{NamedTensor, load};
use hookrack_torch::TensorList;
use hookrack_torch::autograd::GradMode;
use hookrack_torch::optim::Active;

/// How a group of parameters with `N` kinds of state is changed.
pub(super) trait Rule<const N: usize>: Send {
    /// Each kind of state: its name in a saved file and how it starts.
    fn kinds(&self) -> [(&'static str, Start); N];

    /// Changes the parameters that have a gradient, and their state. Gradients are not recorded.
    fn step(&self, group: &Group, now: &Active<N>) -> Result<()>;
}

/// An optimizer that follows a rule.
#[derive(Debug)]
pub(super) struct ByRule<R, const N: usize> {
    rule: R,
    groups: Vec<Group>,
    states: Vec<[TensorList; N]>,
    active: Active<N>,
}

impl<R: Rule<N>, const N: usize> ByRule<R, N> {
    /// Starts with fresh state.
    pub(super) fn new(rule: R, groups: Vec<Group>) -> Result<Self> {
        let states = groups.iter().map(|group| fresh_states(&rule, &group.params));
        let states = states.collect::<Result<_>>()?;
        Ok(Self { rule, groups, states, active: Active::default() })
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
        let _no_grad = GradMode::set(false);
        for (group, states) in self.groups.iter().zip(&self.states) {
            let any = self.active.gather(&group.list, states)?;
            let stepped = if any { self.rule.step(group, &self.active) } else { Ok(()) };
            self.active.clear();
            stepped?;
        }
        Ok(())
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
        load("optimizer", &self.state(), state)
    }
}

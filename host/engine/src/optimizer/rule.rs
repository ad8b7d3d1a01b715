//! What all optimizers share: groups, state, and a rule that steps one group.

use std::collections::HashSet;

use tch::Tensor;

use super::state::{Start, fresh, name};
use super::{Group, Optimizer};
use crate::error::Result;
use crate::named_tensor::{Problems, copy};
use crate::tensor_shard::{SavedTensors, TensorShard};
use hookrack_torch::TensorList;
use hookrack_torch::autograd::GradMode;
use hookrack_torch::optim::Active;

/// How a group of parameters with `N` kinds of state is stepped.
pub(super) trait Rule<const N: usize>: Send {
    /// Each kind of state: its name in a saved file and how it starts.
    fn kinds(&self) -> [(&'static str, Start); N];

    /// Changes the parameters that have a gradient, and their state.
    fn step(&mut self, group: &Group, states: &mut [TensorList; N]) -> Result<()>;
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
        let any = self.active.gather(group.own_list(), states)?;
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
    /// An optimizer of list operators, with new state.
    pub(super) fn of_lists(rule: R, groups: Vec<Group>) -> Result<Self> {
        Self::new(Listed { rule, active: Active::default() }, groups)
    }
}

impl<R: Rule<N>, const N: usize> ByRule<R, N> {
    /// Starts with new state.
    pub(super) fn new(rule: R, groups: Vec<Group>) -> Result<Self> {
        let states = groups.iter().map(|group| fresh_states(&rule, group.own()));
        let states = states.collect::<Result<_>>()?;
        Ok(Self { rule, groups, states })
    }
}

fn fresh_states<R: Rule<N>, const N: usize>(
    rule: &R,
    pieces: &[TensorShard],
) -> Result<[TensorList; N]> {
    let mut states = std::array::from_fn(|_| TensorList::default());
    for (state, (_, start)) in states.iter_mut().zip(rule.kinds()) {
        *state = fresh(pieces, start)?;
    }
    Ok(states)
}

impl<R: Rule<N>, const N: usize> Optimizer for ByRule<R, N> {
    fn step(&mut self) -> Result<()> {
        let mut pairs = self.groups.iter().zip(&mut self.states);
        pairs
            .try_for_each(|(group, states)| group.with_grads(|group| self.rule.step(group, states)))
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn groups_mut(&mut self) -> &mut [Group] {
        &mut self.groups
    }

    fn admit(&mut self) -> Result<()> {
        for (group, states) in self.groups.iter_mut().zip(&mut self.states) {
            let fresh = fresh_states(&self.rule, group.admit()?)?;
            states.iter_mut().zip(&fresh).for_each(|(state, fresh)| state.extend(fresh.iter()));
        }
        Ok(())
    }

    fn state(&self) -> Vec<TensorShard> {
        let live = self
            .live()
            .filter(|(_, start, of, tensor)| tensor.defined() && !start.is_saved_elsewhere(of));
        live.map(|(kind, start, of, tensor)| start.piece(kind, of, tensor)).collect()
    }

    fn load_state(&mut self, saved: &dyn SavedTensors) -> Result<()> {
        self.check(saved)?;
        for (index, (kind, start)) in self.rule.kinds().into_iter().enumerate() {
            for (group, states) in self.groups.iter().zip(&mut self.states) {
                if start == Start::Late {
                    states[index] = late(kind, group.own(), saved)?;
                    continue;
                }
                for (of, tensor) in group.own().iter().zip(states[index].iter()) {
                    copy(saved, &start.piece(kind, of, tensor))?;
                }
            }
        }
        Ok(())
    }
}

impl<R: Rule<N>, const N: usize> ByRule<R, N> {
    /// Every state tensor of this process with its kind, initial value and parameter; parameter by parameter.
    fn live(&self) -> impl Iterator<Item = (&'static str, Start, &TensorShard, Tensor)> {
        let kinds = self.rule.kinds();
        self.groups.iter().zip(&self.states).flat_map(move |(group, states)| {
            group.own().iter().enumerate().flat_map(move |(place, of)| {
                kinds.into_iter().enumerate().filter_map(move |(index, (kind, start))| {
                    Some((kind, start, of, states[index].tensor(place)?))
                })
            })
        })
    }

    /// An error unless the saved state has everything that this process needs, in its shape, and no unknown names.
    fn check(&self, saved: &dyn SavedTensors) -> Result<()> {
        let mut problems = Problems::default();
        for (kind, start, of, tensor) in self.live() {
            let wanted = start.piece(kind, of, tensor);
            // A parameter without a saved buffer had not been stepped: it starts with new state.
            if start != Start::Late || saved.shape(&wanted.name).is_some() {
                let shape = if start == Start::Late { of.shape() } else { wanted.shape() };
                problems.compare(saved, &wanted.name, &shape);
            }
        }
        let kinds = self.rule.kinds().into_iter().filter(|(_, start)| *start != Start::Unused);
        let kinds: Vec<_> = kinds.map(|(kind, _)| kind).collect();
        let params = self.groups.iter().flat_map(|group| &group.params);
        let known: Vec<_> =
            params.flat_map(|param| kinds.iter().map(|kind| name(&param.name, kind))).collect();
        let known: HashSet<&str> = known.iter().map(String::as_str).collect();
        problems.unexpected(saved, &known);
        problems.check("optimizer")
    }
}

/// The saved state of a kind that a piece has from its first step on.
fn late(kind: &str, pieces: &[TensorShard], saved: &dyn SavedTensors) -> Result<TensorList> {
    let _no_grad = GradMode::set(false);
    let mut list = TensorList::with_capacity(pieces.len());
    for of in pieces {
        if saved.shape(&name(&of.name, kind)).is_none() {
            list.push(&Tensor::new());
            continue;
        }
        let tensor = of.tensor.f_empty_like()?;
        list.push(&tensor);
        copy(saved, &Start::Late.piece(kind, of, tensor))?;
    }
    Ok(list)
}

//! What `Adam` and `AdamW` share: moments in lists of our own, stepped by libtorch's fused kernels.

use super::state::{Start, fresh, named};
use super::{Group, Optimizer};
use crate::engine::error::Result;
use crate::engine::named_tensor::{NamedTensor, load};
use crate::torch::optim::{AdamHyper, AdamState, Scratch, Unscale, adam_step};

/// Adam in both forms; `hyper` says which.
#[derive(Debug)]
pub(super) struct FusedAdam {
    hyper: AdamHyper,
    groups: Vec<Group>,
    states: Vec<AdamState>,
    scratch: Scratch,
}

impl FusedAdam {
    /// Starts with all moments at zero.
    pub(super) fn new(hyper: AdamHyper, no_decay: bool, params: &[NamedTensor]) -> Result<Self> {
        let groups = Group::split(params, hyper.lr, hyper.weight_decay, no_decay);
        let states = groups.iter().map(|group| fresh_state(&group.params, hyper.amsgrad));
        let states = states.collect::<Result<_>>()?;
        Ok(Self { hyper, groups, states, scratch: Scratch::default() })
    }
}

fn fresh_state(params: &[NamedTensor], amsgrad: bool) -> Result<AdamState> {
    Ok(AdamState {
        averages: fresh(params, Start::At(0.0))?,
        squares: fresh(params, Start::At(0.0))?,
        max_squares: fresh(params, if amsgrad { Start::At(0.0) } else { Start::Unused })?,
        steps: fresh(params, Start::Counter)?,
    })
}

impl Optimizer for FusedAdam {
    fn step(&mut self) -> Result<()> {
        for (group, state) in self.groups.iter().zip(&mut self.states) {
            let hyper = AdamHyper { lr: group.lr, weight_decay: group.weight_decay, ..self.hyper };
            adam_step(&group.list, state, &mut self.scratch, &hyper, Unscale::default())?;
        }
        Ok(())
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn groups_mut(&mut self) -> &mut [Group] {
        &mut self.groups
    }

    fn state(&self) -> Vec<NamedTensor> {
        let pairs = self.groups.iter().zip(&self.states);
        pairs
            .flat_map(|(group, state)| {
                let kinds = [
                    ("step", &state.steps),
                    ("exp_avg", &state.averages),
                    ("exp_avg_sq", &state.squares),
                    ("max_exp_avg_sq", &state.max_squares),
                ];
                named(&group.params, &kinds)
            })
            .collect()
    }

    fn load_state(&mut self, state: &[NamedTensor]) -> Result<()> {
        load("optimizer", &self.state(), state)
    }
}

//! What `Adam` and `AdamW` share: moments in lists of our own, stepped by libtorch's fused kernels.

use hookrack_plugin_api::prelude::Settings;

use super::state::{Start, fresh, named};
use super::{Group, Optimizer, ParamSet, betas};
use crate::error::Result;
use crate::named_tensor::{NamedTensor, load};
use hookrack_torch::optim::{AdamHyper, AdamState, Scratch, Unscale, adam_step};

/// What both forms of Adam can be told alike; PyTorch's defaults.
#[derive(Debug, Clone, Settings)]
pub(super) struct AdamKnobs {
    /// Learning rate.
    #[param(default = 1e-3, min = 0.0)]
    lr: f64,
    /// Decay rates of the first and second moment.
    #[param(default = [0.9, 0.999])]
    betas: Vec<f64>,
    /// Term added to the denominator for numerical stability.
    #[param(default = 1e-8, min = 0.0)]
    eps: f64,
    /// Use the AMSGrad variant.
    #[param(default)]
    amsgrad: bool,
    /// Maximize the objective instead of minimizing it.
    #[param(default)]
    maximize: bool,
}

impl AdamKnobs {
    /// The kernel's numbers; `decoupled_decay` takes the decay off the weights and not through the gradient.
    pub(super) fn hyper(
        self,
        weight_decay: f64,
        decoupled_decay: bool,
    ) -> std::result::Result<AdamHyper, String> {
        let [beta1, beta2] = betas::pair(&self.betas)?;
        let Self { lr, eps, amsgrad, maximize, .. } = self;
        Ok(AdamHyper { lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled_decay })
    }
}

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
    pub(super) fn new(hyper: AdamHyper, params: &ParamSet) -> Result<Self> {
        let groups = params.groups(hyper.lr, hyper.weight_decay, Some(hyper.beta1));
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
            let (lr, weight_decay) = (group.lr, group.weight_decay);
            let beta1 = group.momentum.unwrap_or(self.hyper.beta1);
            let hyper = AdamHyper { lr, beta1, weight_decay, ..self.hyper };
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

    fn admit(&mut self) -> Result<()> {
        for (group, state) in self.groups.iter_mut().zip(&mut self.states) {
            let fresh = fresh_state(&group.admit(), self.hyper.amsgrad)?;
            state.averages.extend(fresh.averages.iter());
            state.squares.extend(fresh.squares.iter());
            state.max_squares.extend(fresh.max_squares.iter());
            state.steps.extend(fresh.steps.iter());
        }
        Ok(())
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

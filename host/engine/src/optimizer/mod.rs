//! Optimizers: how gradients change parameters. They own their state, so that a resumed run is exact.

mod adagrad;
mod adam;
mod betas;
mod group;
mod lamb;
mod lars;
mod lion;
mod owned_shards;
mod param_set;
mod partition;
mod rmsprop;
mod rule;
mod sgd;
mod state;
#[cfg(test)]
mod tests;
mod trust;

pub use adagrad::AdagradSettings;
pub use adam::{AdamSettings, AdamWSettings};
pub use group::Group;
pub use lamb::LambSettings;
pub use lars::LarsSettings;
pub use lion::LionSettings;
pub use param_set::{GroupRule, GroupRules, ParamSet};
pub use rmsprop::RmsPropSettings;
pub use sgd::SgdSettings;

use super::error::Result;
use super::registry::{Built, ComponentKind, Entry};
use super::tensor_shard::{SavedTensors, TensorShard};
use hookrack_torch::autograd;

/// An optimizer over parameters that it was built with.
pub trait Optimizer: Send {
    /// Changes every parameter that has a gradient.
    fn step(&mut self) -> Result<()>;

    /// Sets all gradients to none.
    fn zero_grad(&mut self) -> Result<()> {
        Ok(self.groups().iter().try_for_each(|group| autograd::clear_grads(group.list()))?)
    }

    /// The parameter groups, each with its learning rate.
    fn groups(&self) -> &[Group];

    /// The same, to change learning rates, weight decays and momenta between steps.
    fn groups_mut(&mut self) -> &mut [Group];

    /// Adds parameters that are no longer frozen, with new state.
    fn admit(&mut self) -> Result<()>;

    /// The state that this process saves, named `<param>.<what>`; handles to the live tensors. Of a sharded optimizer, the states of
    /// all ranks together are that of one.
    fn state(&self) -> Vec<TensorShard>;

    /// Restores what [`state`](Self::state) returned on any number of ranks, as far as this process needs it. Nothing changes unless all
    /// of it matches.
    fn load_state(&mut self, state: &dyn SavedTensors) -> Result<()>;
}

impl Built for dyn Optimizer {
    const KIND: ComponentKind = ComponentKind::Optimizer;
}

/// Every optimizer that a config can name.
pub static OPTIMIZERS: &[Entry<ParamSet, dyn Optimizer>] = &[
    Entry::of::<AdagradSettings>(),
    Entry::of::<AdamSettings>(),
    Entry::of::<AdamWSettings>(),
    Entry::of::<LambSettings>(),
    Entry::of::<LarsSettings>(),
    Entry::of::<LionSettings>(),
    Entry::of::<RmsPropSettings>(),
    Entry::of::<SgdSettings>(),
];

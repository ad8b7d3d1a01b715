//! The ranks over whose rows batch norms take their statistics.

use std::sync::{Arc, Mutex, PoisonError};

use tch::Tensor;

use crate::error::Result;
use hookrack_torch::batch_norm::BatchNormState;
use hookrack_torch::dist::Group;

/// The ranks over whose rows the batch norms of a model take mean and variance in training; those of one process alone unless it
/// has joined others. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct NormRanks(Arc<Mutex<Option<Group>>>);

impl NormRanks {
    /// Takes the statistics of all ranks of a group from here on, or of this process alone again.
    pub fn set(&self, group: Option<Group>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = group;
    }

    /// Whether the statistics are those of several ranks.
    pub fn is_joined(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// A batch, normalized over all ranks; `None` for a process alone.
    pub(super) fn normalized(
        &self,
        input: &Tensor,
        state: &BatchNormState<'_>,
    ) -> Option<Result<Tensor>> {
        let group = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        group.as_ref().map(|group| Ok(group.batch_norm(input, state)?))
    }
}

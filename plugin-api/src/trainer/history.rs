//! The history of scalars, and scopes of names.

use super::{ScalarKey, Trainer};
use crate::error::Result;

pub use crate::abi::HrScalarPoint as ScalarPoint;

/// The history of scalars (extension `hookrack.history/1`). The host keeps the last 1024 values of each
/// scalar, across a resume too. A host before ABI 1.1 returns an error.
impl Trainer {
    /// Returns the mean of the last `window` values of a scalar, without NaN; `None` if there is none. Goes
    /// through these values.
    pub fn mean(&self, key: ScalarKey, window: usize) -> Result<Option<f64>> {
        self.host.mean(key.code(), window)
    }

    /// Returns the mean of all values of a scalar since the start of the run, without NaN; `None` if there is
    /// none. The host keeps the sum: the cost does not depend on the number of values.
    pub fn global_mean(&self, key: ScalarKey) -> Result<Option<f64>> {
        self.host.global_mean(key.code())
    }

    /// Returns the last `window` values of a scalar with their iterations, oldest first. The host keeps a
    /// limited number of values, at least 1000.
    ///
    /// Empty if the scalar has no value. Allocates; `usize::MAX` returns all that the host has kept.
    pub fn history(&self, key: ScalarKey, window: usize) -> Result<Vec<ScalarPoint>> {
        self.host.recent(key.code(), window)
    }

    /// Runs `body` with a prefix for the names used inside: in `head`, `loss` is `train/head/loss` and
    /// `@norm` is `hook/<instance>/head/norm`.
    ///
    /// Names with a `/` are not prefixed. Scopes can be nested. The scope ends when `body` returns, also with
    /// an error. It applies to names that this hook passes: a key made outside keeps its name, and other
    /// hooks do not see the scope.
    ///
    /// # Errors
    /// `name` is empty or contains `/` or `@`, or `body` returns an error.
    pub fn scoped<T>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.host.enter_scope(name)?;
        let outcome = body(self);
        self.host.leave_scope()?;
        outcome
    }
}

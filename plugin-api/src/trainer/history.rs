//! A scalar's past, and scopes of names.

use super::{ScalarKey, Trainer};
use crate::error::Result;

pub use crate::abi::HrScalarPoint as ScalarPoint;

/// History. On a host of plugin-api 1.0 each of these is an error.
impl Trainer {
    /// The mean of the last `window` values of a scalar; NaN does not count.
    pub fn mean(&self, key: ScalarKey, window: usize) -> Result<Option<f64>> {
        self.host.mean(key.code(), window)
    }

    /// The mean of all values that a scalar ever had; NaN does not count.
    pub fn global_mean(&self, key: ScalarKey) -> Result<Option<f64>> {
        self.host.global_mean(key.code())
    }

    /// The last values of a scalar, oldest first. The host keeps a bounded number, at least 1000.
    pub fn history(&self, key: ScalarKey, window: usize) -> Result<Vec<ScalarPoint>> {
        self.host.recent(key.code(), window)
    }

    /// Runs `body` with a scope before the names that it gives: in `head`, `loss` is `train/head/loss` and `@norm` is
    /// `hook/<instance>/head/norm`. A name with '/' stays as it is. Scopes nest.
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

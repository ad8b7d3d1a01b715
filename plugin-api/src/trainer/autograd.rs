//! Whether gradients are recorded.

use super::Trainer;
use crate::abi::Host;
use crate::error::Result;

/// Restores the mode when dropped, also after a panic.
struct Restore {
    host: Host,
    was: bool,
}

impl Drop for Restore {
    fn drop(&mut self) {
        // A host that has switched it once does it again; it restores the mode itself when the hook returns.
        let _ = self.host.set_recording(self.was);
    }
}

/// Gradient recording (extension `hookrack.autograd/1`). It is on in roles of the training phase, except
/// `on_optimizer_step`, and off at all other points.
///
/// It applies to operators that the hook calls. The model and the configured loss choose for themselves:
/// [`forward`](Self::forward) and [`model`](Self::model) record gradients in the training phase and never in
/// others, [`criterion`](Self::criterion) and [`criterion_of`](Self::criterion_of) always do,
/// [`forward_in`](Self::forward_in) and [`FrozenModel::forward`](crate::FrozenModel::forward) never.
impl Trainer {
    /// Runs `body` with gradient recording off. Use it in a role to change parameters in place, or for values
    /// that the loss must not depend on.
    ///
    /// The previous mode is restored when `body` returns or panics. Switching takes two short calls to the
    /// host. At a point that is not a role, recording is off already.
    ///
    /// # Errors
    /// `body` returns an error, or the host is older than ABI 1.2; then `body` is not run.
    pub fn no_grad<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.recording(false, body)
    }

    /// Runs `body` with gradient recording on, at a point that is not a role. The previous mode is restored
    /// afterwards.
    ///
    /// What `body` computes keeps its graph, and with it the tensors that it was computed from, until the
    /// result is dropped or detached.
    ///
    /// # Errors
    /// As for [`no_grad`](Self::no_grad).
    pub fn enable_grad<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.recording(true, body)
    }

    fn recording<T>(&mut self, on: bool, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let was = self.host.set_recording(on)?;
        let _restore = Restore { host: self.host, was };
        body(self)
    }
}

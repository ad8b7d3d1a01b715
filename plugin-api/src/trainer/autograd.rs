//! Whether gradients are recorded.

use super::Trainer;
use crate::abi::Host;
use crate::error::Result;

/// Puts the mode back, a panic included.
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

/// Whether gradients are recorded. Hooks run without, roles of the training phase with (`on_optimizer_step` excepted):
/// these change it for a few lines. The extension `hookrack.autograd/1`, which an older host answers with an error.
impl Trainer {
    /// Runs `body` without gradients being recorded: in a role, what changes parameters in place goes in here, and what
    /// the loss should not depend on.
    pub fn no_grad<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.recording(false, body)
    }

    /// Runs `body` with gradients being recorded, at a point that is not a role.
    pub fn enable_grad<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.recording(true, body)
    }

    fn recording<T>(&mut self, on: bool, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let was = self.host.set_recording(on)?;
        let _restore = Restore { host: self.host, was };
        body(self)
    }
}

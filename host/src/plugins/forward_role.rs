//! The hook with the training forward role, which other hooks can run.

use super::instance::{Inner, Instance};
use crate::context::ForwardRole;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::HrStatus;
use std::rc::Weak;

/// The hook in the training forward role.
pub struct ForwardHolder {
    name: String,
    source: String,
    is_default: bool,
    called_as: Point,
    live: Weak<Inner>,
}

impl ForwardHolder {
    /// The role as an instance holds it: `source` is the library that it comes from, `called_as` the role that it
    /// implements. A default one does what `forward` and `criterion` do.
    pub fn new(
        instance: &Instance,
        name: &str,
        source: String,
        is_default: bool,
        called_as: Point,
    ) -> Self {
        Self { name: name.to_owned(), source, is_default, called_as, live: instance.live() }
    }
}

impl ForwardRole for ForwardHolder {
    fn run(&self) -> Result<(), String> {
        let Self { name, source, called_as, .. } = self;
        let Some(live) = self.live.upgrade() else {
            return Err(format!("hook `{name}`, which has the role {called_as}, no longer exists"));
        };
        if live.endpoint.is_called() {
            return Err(format!(
                "train_forward() calls `{name}`, which has the role {called_as} and is itself being called: the hook with this role \
                 must run its own forward pass"
            ));
        }
        match live.on_point(*called_as) {
            HrStatus::OK => Ok(()),
            status => {
                let how = if status == HrStatus::PANIC { "panicked" } else { "failed" };
                let why = live.endpoint.take_error();
                Err(format!("hook `{name}` ({source}) {how} at {called_as}: {why}"))
            }
        }
    }

    fn check_pass(&self, caller: &str, function: &str) -> Result<(), String> {
        let is_own = self.live.upgrade().is_none_or(|live| live.endpoint.name() == caller);
        if self.is_default || is_own {
            return Ok(());
        }
        let Self { name, source, called_as, .. } = self;
        Err(format!(
            "{function}() by `{caller}` would bypass `{name}` ({source}), which has the role {called_as}: call \
             train_forward() (plugin-api 1.2), which runs `{name}`, or model(), which only runs the model"
        ))
    }
}

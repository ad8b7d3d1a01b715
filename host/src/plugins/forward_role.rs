//! The hook that holds the training forward role, for other hooks to have it run.

use super::instance::{Instance, Live};
use super::services::Desk;
use crate::torch::autograd::GradMode;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::HrStatus;
use std::rc::Weak;

/// The hook that holds the training forward role.
pub struct ForwardRole {
    name: String,
    source: String,
    is_default: bool,
    called_as: Point,
    live: Weak<Live>,
}

impl ForwardRole {
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

    /// Calls the hook, with gradients being recorded.
    ///
    /// # Errors
    /// It failed, it is being called, or it is gone.
    pub(super) fn run(&self) -> Result<(), String> {
        let Self { name, source, called_as, .. } = self;
        let Some(live) = self.live.upgrade() else {
            return Err(format!("hook `{name}`, which holds the role {called_as}, is gone"));
        };
        if live.desk.is_called() {
            return Err(format!(
                "train_forward() calls the role {called_as} of `{name}`, which is being called: a hook that holds the role \
                 runs its own forward pass by itself"
            ));
        }
        let _mode = GradMode::set(true);
        match live.on_point(*called_as) {
            HrStatus::OK => Ok(()),
            status => {
                let how = if status == HrStatus::PANIC { "panicked" } else { "failed" };
                let why = live.desk.take_error();
                Err(format!("hook `{name}` ({source}) {how} at {called_as}: {why}"))
            }
        }
    }

    /// Whether a pass of `forward` and `criterion` that this desk's instance makes is that of the role.
    ///
    /// # Errors
    /// Another hook holds it, and the pass would leave out what that hook does.
    pub(super) fn allows(&self, desk: &Desk, function: &str) -> Result<(), String> {
        let is_own = self.live.upgrade().is_none_or(|live| std::ptr::eq(live.desk, desk));
        if self.is_default || is_own {
            return Ok(());
        }
        let Self { name, source, called_as, .. } = self;
        Err(format!(
            "{function}() by `{}` would go around `{name}` ({source}), which holds the role {called_as}: call \
             train_forward() (plugin-api 1.2), which runs `{name}`, or model(), which runs the model alone",
            desk.name()
        ))
    }
}

//! Hooks that take over roles of the built-in main hook: one computes the loss, one sets the learning rate, one makes a
//! second pass before the step.
//!
//! ```toml
//! # no [loss]: the hook computes it
//! [[custom_hooks]]
//! type = "FocalLossHook"
//! library = "libroles.so"
//! gamma = 2.0
//!
//! [[custom_hooks]]
//! type = "IterRuleHook"
//! library = "libroles.so"
//! warmup_iters = 100
//!
//! [[custom_hooks]]
//! type = "SamHook"
//! library = "libroles.so"
//! rho = 0.05
//! ```

pub mod focal_loss;
pub mod iter_rule;
pub mod sam;

use focal_loss::FocalLoss;
use hookrack_plugin_api::export_plugin;
use iter_rule::IterRule;
use sam::Sam;

export_plugin! {
    hooks: [FocalLoss as "FocalLossHook", IterRule as "IterRuleHook", Sam as "SamHook"]
}

//! Built-in hooks, written against plugin-api like any plugin: one file each, one line in [`HOOKS`].

mod check_point;
mod evaluate;
mod iteration_timer;
mod learning_rate_monitor;
mod loss;
mod main_hook;
mod periodic_logger;

use hookrack_plugin_api::abi::HookBase;
use hookrack_plugin_api::hook_table;

/// Every hook that a config can name without a library.
pub static HOOKS: &[HookBase] = &[
    hook_table!(check_point::CheckPointHook as "CheckPointHook"),
    hook_table!(evaluate::EvaluateHook as "EvaluateHook"),
    hook_table!(iteration_timer::IterationTimerHook as "IterationTimerHook"),
    hook_table!(learning_rate_monitor::LearningRateMonitor as "LearningRateMonitor"),
    hook_table!(loss::LossHook as "LossHook"),
    hook_table!(main_hook::MainHook as "MainHook"),
    hook_table!(periodic_logger::PeriodicLogger as "PeriodicLogger"),
];

/// The hooks that run unless `[default_hooks]` says otherwise: key, type, level. Levels are distinct, so that a custom
/// hook fits between any two.
pub static DEFAULT_HOOKS: &[(&str, &str, i64)] = &[
    ("main", "MainHook", 1),
    ("loss", "LossHook", 12),
    ("lr", "LearningRateMonitor", 14),
    ("timer", "IterationTimerHook", 16),
    ("evaluate", "EvaluateHook", 32),
    ("checkpoint", "CheckPointHook", 42),
    ("logger", "PeriodicLogger", 52),
];

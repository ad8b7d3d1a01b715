//! Built-in hooks, written against plugin-api like any plugin: one file each, one line in [`HOOKS`].

mod autograd_anomaly_detect;
mod best_checkpointer;
mod callback;
mod check_point;
mod checkpoint_name;
mod common_metric_logger;
mod early_stopping;
mod evaluate;
mod fp16_optimizer;
mod freeze_unfreeze;
mod gathered_batches;
mod grad_clip;
mod grad_norm;
mod gradient_accumulation_scheduler;
mod gradual_unfreezing;
mod iteration_timer;
mod json_logger;
mod learning_rate_monitor;
mod load_checkpoint;
mod log_memory_by_epoch;
mod log_metric_by_epoch;
mod log_metric_by_step;
mod log_timing_by_epoch;
mod loss;
mod lr_finder;
mod lr_scheduler;
mod main_hook;
mod max_steps;
mod model_summary;
mod momentum_scheduler;
mod monitored;
mod nan_guard;
mod optimizer;
mod periodic_logger;
mod periodic_writer;
mod prediction_writer;
mod process_memory;
mod progress_bar;
mod tensorboard_callback;
mod tensorboard_logger;
mod text_logger;
mod throughput;
mod timer;
mod weight_histogram;
mod weights_file;

pub use callback::{Callback, CallbackHook};
use hookrack_plugin_api::abi::HookBase;
use hookrack_plugin_api::hook_table;

/// Hooks that cannot validate in a pipeline, and what they would need there.
pub static NOT_IN_PIPELINES: &[(&str, &str)] =
    &[("PredictionWriter", "the outputs on all ranks, and only the last stage has them")];

/// Every hook that a config can name without a library.
pub static HOOKS: &[HookBase] = &[
    hook_table!(autograd_anomaly_detect::AutogradAnomalyDetectHook as "AutogradAnomalyDetectHook"),
    hook_table!(best_checkpointer::BestCheckpointer as "BestCheckpointer"),
    hook_table!(check_point::CheckPointHook as "CheckPointHook"),
    hook_table!(common_metric_logger::CommonMetricLoggerHook as "CommonMetricLoggerHook"),
    hook_table!(early_stopping::EarlyStoppingHook as "EarlyStoppingHook"),
    hook_table!(load_checkpoint::LoadCheckpointHook as "LoadCheckpointHook"),
    hook_table!(evaluate::EvaluateHook as "EvaluateHook"),
    hook_table!(fp16_optimizer::Fp16OptimizerHook as "Fp16OptimizerHook"),
    hook_table!(freeze_unfreeze::FreezeUnfreezeHook as "FreezeUnfreezeHook"),
    hook_table!(gradient_accumulation_scheduler::GradientAccumulationScheduler as "GradientAccumulationScheduler"),
    hook_table!(grad_norm::GradNormHook as "GradNormHook"),
    hook_table!(gradual_unfreezing::GradualUnfreezing as "GradualUnfreezing"),
    hook_table!(iteration_timer::IterationTimerHook as "IterationTimerHook"),
    hook_table!(json_logger::JsonLoggerHook as "JSONLoggerHook"),
    hook_table!(learning_rate_monitor::LearningRateMonitor as "LearningRateMonitor"),
    hook_table!(log_memory_by_epoch::LogMemoryByEpochHook as "LogMemoryByEpochHook"),
    hook_table!(log_metric_by_epoch::LogMetricByEpochHook as "LogMetricByEpochHook"),
    hook_table!(log_metric_by_step::LogMetricByStepHook as "LogMetricByStepHook"),
    hook_table!(log_timing_by_epoch::LogTimingByEpochHook as "LogTimingByEpochHook"),
    hook_table!(loss::LossHook as "LossHook"),
    hook_table!(lr_finder::LrFinder as "LRFinder"),
    hook_table!(lr_scheduler::LrSchedulerHook as "LRSchedulerHook"),
    hook_table!(main_hook::MainHook as "MainHook"),
    hook_table!(max_steps::MaxStepsCallback as "MaxstepsCallback"),
    hook_table!(model_summary::ModelSummary as "ModelSummary"),
    hook_table!(momentum_scheduler::MomentumSchedulerHook as "MomentumSchedulerHook"),
    hook_table!(nan_guard::NanGuard as "NaNGuard"),
    hook_table!(optimizer::OptimizerHook as "OptimizerHook"),
    hook_table!(periodic_logger::PeriodicLogger as "PeriodicLogger"),
    hook_table!(periodic_writer::PeriodicWriter as "PeriodicWriter"),
    hook_table!(prediction_writer::PredictionWriter as "PredictionWriter"),
    hook_table!(progress_bar::ProgressBar as "ProgressBar"),
    hook_table!(tensorboard_callback::TensorBoardCallback as "TensorBoardCallback"),
    hook_table!(tensorboard_logger::TensorboardLoggerHook as "TensorboardLoggerHook"),
    hook_table!(text_logger::TextLoggerHook as "TextLoggerHook"),
    hook_table!(throughput::ThroughputHook as "ThroughputHook"),
    hook_table!(timer::Timer as "Timer"),
    hook_table!(weight_histogram::WeightHistogramHook as "WeightHistogramHook"),
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

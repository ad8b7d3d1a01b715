//! ColossalAI 0.0.1 and 0.0.2: `colossalai.trainer`, `colossalai.engine`, `colossalai.nn.lr_scheduler`.

use super::Here::{Always, Api, As, Command, Keys, No, NotYet, Same, Types};
use super::{Row, RowKind, Section, Seed, row};

const NO_LOGGER: (&str, &str) = ("logger", "- hooks log to the run's log");
const ALONE: &str = "tensor parallelism is not supported";
const T: (&str, &str) = ("total_steps", "- the length of the run");

pub(super) static COLOSSALAI: Seed = Seed {
    name: "ColossalAI",
    about: "Priorities are levels; lower ones run first. `configs/seeds/colossalai.toml` has the hook list of its guide.",
    sections: &[
        Section { title: "Points", subject: RowKind::Point, rows: POINTS },
        Section { title: "Hooks", subject: RowKind::Hook, rows: HOOKS },
        Section { title: "Metrics", subject: RowKind::Metric, rows: METRICS },
        Section { title: "Learning rate schedules", subject: RowKind::Scheduler, rows: SCHEDULES },
        Section { title: "Trainer, engine and config", subject: RowKind::Other, rows: OTHER },
    ],
};

const POINTS: &[Row] = &[
    row("after_hook_is_attached", Same, "means `on_attach`"),
    row("before_train", Same, ""),
    row("after_train", Same, "also called after a failure"),
    row("before_train_epoch", Same, ""),
    row("after_train_epoch", Same, ""),
    row("before_train_iter", Same, ""),
    row(
        "after_train_iter",
        Same,
        "output, label and loss are read from the handle, not passed as arguments",
    ),
    row(
        "before_test",
        Same,
        "in `hookrack eval`; during training it is `before_val`; `before_eval` covers both",
    ),
    row("after_test", Same, "likewise `after_val`, `after_eval`"),
    row("before_test_epoch", Same, "likewise `before_val_epoch`, `before_eval_epoch`"),
    row("after_test_epoch", Same, "likewise `after_val_epoch`, `after_eval_epoch`"),
    row("before_test_iter", Same, "likewise `before_val_iter`, `before_eval_iter`"),
    row("after_test_iter", Same, "likewise `after_val_iter`, `after_eval_iter`"),
    row(
        "pre_fwd_exec",
        NotYet,
        "no hooks on single modules (op hooks); `after_forward` is for the whole model",
    ),
    row("post_fwd_exec", NotYet, "as above"),
    row("pre_bwd_exec", NotYet, "as above; `before_backward` is for the whole model"),
    row("post_bwd_exec", NotYet, "as above; `after_backward` is for the whole model"),
    row("post_iter", As("after_iter"), ""),
];

const HOOKS: &[Row] = &[
    row("LossHook", Same, "also adds the metric `Loss`, in training and evaluation")
        .with(&[("priority", "level")]),
    row("AccuracyHook", Same, "same as the metric `Accuracy`").with(&[("accuracy_func", "")]),
    row("Accuracy2DHook", NotYet, ALONE),
    row("Accuracy2p5DHook", NotYet, ALONE),
    row("Accuracy3DHook", NotYet, ALONE)
        .with(&[("input_parallel_mode", "- not yet"), ("weight_parallel_mode", "- not yet")]),
    row(
        "MetricHook",
        Same,
        "`metric` is the type of the metric; write a custom metric as a plugin",
    ),
    row(
        "ThroughputHook",
        Same,
        "logs the scalars `train/throughput` and `val/throughput`; the metric is `Throughput`",
    )
    .with(&[("ignored_steps", ""), ("tflop_per_step", ""), ("use_local", "")]),
    row(
        "LRSchedulerHook",
        Same,
        "steps after each optimizer step or epoch; its metric `LR` is the scalar `train/lr`",
    )
    .with(&[
        ("lr_scheduler", "lr_scheduler.type"),
        ("by_epoch", ""),
        ("store_lr_in_state", ""),
    ]),
    row("LogMetricByStepHook", Same, "`step_metrics` is a state that any hook can read"),
    row("LogMetricByEpochHook", Same, "").with(&[("interval", ""), NO_LOGGER]),
    row("LogTimingByEpochHook", Same, "").with(&[
        ("interval", ""),
        ("log_eval", ""),
        ("ignore_num_train_steps", ""),
        ("timer", "- times are always measured"),
        NO_LOGGER,
    ]),
    row("LogMemoryByEpochHook", Same, "").with(&[
        ("interval", ""),
        ("log_eval", ""),
        ("report_cpu", ""),
        NO_LOGGER,
    ]),
    row("TensorboardHook", Same, "").with(&[("log_dir", ""), ("ranks", ""), ("parallel_mode", "")]),
    row("SaveCheckpointHook", Same, "").with(&[
        ("interval", ""),
        ("checkpoint_dir", ""),
        ("suffix", ""),
        ("save_by_iter", ""),
        ("model", "- the run's model"),
    ]),
    row("LoadCheckpointHook", Same, "").with(&[
        ("checkpoint_dir", ""),
        ("epoch", ""),
        ("finetune", ""),
        ("strict", ""),
        ("suffix", ""),
    ]),
    row(
        "MemTracerOpHook",
        NotYet,
        "memory by module; `AutogradProfilerHook` with `profile_memory` has it by operator",
    ),
];

const METRICS: &[Row] = &[
    row("Loss", Same, ""),
    row("LossMetric", As("Loss"), "")
        .with(&[("epoch_only", "- both values are kept, that of the batch and that of the pass")]),
    row("Accuracy", Same, ""),
    row("AccuracyMetric", As("Accuracy"), "").with(&[("accuracy_func", "- name another metric")]),
    row("Accuracy2D", NotYet, ALONE),
    row("Accuracy2p5D", NotYet, ALONE),
    row("Accuracy3D", NotYet, ALONE),
    row(
        "LearningRateMetric",
        No,
        "the learning rate is the scalar `train/lr`, which hooks can monitor like a metric",
    ),
    row("ThroughputMetric", As("Throughput"), "")
        .with(&[("ignored_steps", "- of `ThroughputHook`")]),
];

const SCHEDULES: &[Row] = &[
    row("CosineAnnealingLR", Same, "").with(&[T, ("eta_min", "")]),
    row("CosineAnnealingWarmupLR", Same, "").with(&[T, ("warmup_steps", ""), ("eta_min", "")]),
    row("FlatAnnealingLR", Same, "").with(&[T, ("pct_start", "")]),
    row("FlatAnnealingWarmupLR", Same, "").with(&[
        T,
        ("warmup_steps", ""),
        ("pct_start", ""),
        ("eta_min", ""),
    ]),
    row("LinearWarmupLR", Same, "").with(&[T, ("warmup_steps", "")]),
    row("LinearWarmupDecay", Same, "").with(&[T, ("warmup_steps", "")]),
    row("MultiStepLR", Same, "").with(&[
        T,
        ("milestones", ""),
        ("gamma", ""),
        ("num_steps_per_epoch", "by_epoch"),
    ]),
    row("MultiStepWarmupLR", Same, "").with(&[
        T,
        ("warmup_steps", ""),
        ("milestones", ""),
        ("gamma", ""),
        ("num_steps_per_epoch", "by_epoch"),
    ]),
    row("OneCycleLR", Same, "the largest rate is `optimizer.lr`").with(&[
        T,
        ("pct_start", ""),
        ("anneal_strategy", ""),
        ("cycle_momentum", ""),
        ("base_momentum", ""),
        ("max_momentum", ""),
        ("div_factor", ""),
        ("final_div_factor", ""),
    ]),
    row("PolynomialLR", Same, "").with(&[T, ("end_lr", ""), ("power", "")]),
    row("PolynomialWarmupLR", Same, "").with(&[
        T,
        ("warmup_steps", ""),
        ("end_lr", ""),
        ("power", ""),
    ]),
    row("LambdaLR", Same, "a list of factors instead of a function")
        .with(&[("lr_lambda", "factors")]),
    row("MultiplicativeLR", Same, "likewise").with(&[("lr_lambda", "factors")]),
    row("StepLR", Same, "").with(&[
        ("step_size", ""),
        ("gamma", ""),
        ("num_steps_per_epoch", "by_epoch"),
    ]),
    row("ExponentialLR", Same, "").with(&[("gamma", ""), ("num_steps_per_epoch", "by_epoch")]),
    row("DelayerScheduler", As("Sequential"), "`ConstantLR` first")
        .with(&[("delay_epochs", "milestones"), ("after_scheduler", "schedules")]),
    row("WarmupScheduler", As("Warmup"), "`warmup_divisor = \"w+1\"`: the factor is (t+1)/(w+1)")
        .with(&[("warmup_epochs", "warmup_steps"), ("after_scheduler", "schedule")]),
    row(
        "WarmupDelayerScheduler",
        As("Warmup"),
        "`warmup_divisor = \"w\"`: the factor is (t+1)/w; around a `Sequential`",
    )
    .with(&[
        ("warmup_epochs", "warmup_steps"),
        ("delay_epochs", "- `milestones` of the `Sequential`"),
        ("after_scheduler", "schedule"),
    ]),
];

const OTHER: &[Row] = &[
    row("Trainer.fit(epochs)", Keys(&["train.max_epochs"]), ""),
    row(
        "Trainer.fit(max_steps)",
        Keys(&["train.max_iters"]),
        "with `max_epochs`, whichever comes first",
    ),
    row("Trainer.fit(train_dataloader)", Keys(&["data.train"]), ""),
    row("Trainer.fit(test_dataloader)", Keys(&["data.val", "data.test"]), ""),
    row("Trainer.fit(test_interval)", Keys(&["default_hooks.evaluate.interval"]), ""),
    row("Trainer.fit(hooks)", Keys(&["custom_hooks", "default_hooks"]), ""),
    row(
        "Trainer.fit(display_progress)",
        Command("train", "--quiet"),
        "progress is shown unless it is given; `ProgressBar` selects the scalars",
    ),
    row(
        "Trainer.fit(return_output_label)",
        Always,
        "every hook can read output and label; nothing is copied",
    ),
    row("Trainer.evaluate", Command("eval", "--checkpoint"), ""),
    row("Trainer.predict", Command("predict", "--checkpoint"), "with points for prediction"),
    row("Trainer.save", Api(&["request_checkpoint"]), ""),
    row(
        "Trainer.load",
        Keys(&["weights.path", "weights.strict", "train.load_from"]),
        "the weights only; `hookrack train --resume` restores the whole run",
    ),
    row(
        "verbose",
        Command("plan", "--json"),
        "the order of hooks at every point; `train` logs it too",
    ),
    row(
        "runner.states",
        Api(&["state", "put_state", "remove_state"]),
        "values that hooks share by name",
    ),
    row("states['metrics']", Api(&["metric_objects", "metric_object", "metrics"]), ""),
    row("init_runner_states", Api(&["state", "put_state"]), "set it if `state` returns `None`"),
    row("Metric.is_better", Api(&["is_better"]), ""),
    row("Metric.get_last_step_value", Api(&["step"]), "of a metric object"),
    row(
        "Metric.get_accumulated_value",
        Api(&["so_far", "last"]),
        "of a metric object; reading does not change it",
    ),
    row("Engine(model)", Keys(&["model.type"]), ""),
    row("Engine(criterion)", Keys(&["loss.type"]), ""),
    row("Engine(optimizer)", Keys(&["optimizer.type", "optimizer.lr"]), ""),
    row("Engine(lr_scheduler)", Keys(&["lr_scheduler.type"]), ""),
    row("Engine(clip_grad_norm)", Keys(&["train.clip_grad_norm"]), "zh guide: `gradient_clipping`"),
    row(
        "Engine(gradient_accumulation)",
        Keys(&["train.accumulate_grad_batches"]),
        "batches per optimizer step",
    ),
    row(
        "Engine(gradient_handlers)",
        Always,
        "gradients are summed over ranks during the backward pass; see `[distributed]`",
    ),
    row("Engine(ophook_list)", NotYet, "hooks on single modules"),
    row(
        "Engine.zero_grad, backward, step",
        Api(&["backward", "optimizer_step"]),
        "in a hook with the role; the host zeroes the gradients",
    ),
    row("NoPipelineSchedule", Types(&["NoPipeline"]), "also `NonPipelineSchedule`"),
    row(
        "PipelineSchedule",
        Types(&["OneFOneB"]),
        "`num_microbatches` is `microbatches`; `tensor_shape` is found at startup",
    ),
    row(
        "InterleavedPipelineSchedule",
        Types(&["Interleaved1F1B"]),
        "`num_model_chunks` is `chunks`",
    ),
    row(
        "parallel",
        Keys(&["parallel.pipeline", "parallel.data"]),
        "checked against the schedule and the number of ranks; there is no tensor parallelism",
    ),
    row("zero", Keys(&["optimizer.shard"]), "stage 1; parameters and gradients are not sharded"),
    row(
        "fp16(mode)",
        Keys(&["train.precision", "train.loss_scaler"]),
        "as in `torch.amp` (`AMP_TYPE.TORCH`)",
    ),
    row("num_epochs, num_steps", Keys(&["train.max_epochs", "train.max_iters"]), ""),
    row("seed", Keys(&["train.seed"]), ""),
    row(
        "cudnn_benchmark, cudnn_deterministic",
        No,
        "results are deterministic; there is no faster nondeterministic mode",
    ),
    row(
        "launch, from_slurm, from_openmpi, from_torch",
        Command("launch", "--ranks"),
        "torchrun, SLURM, Open MPI and PMI are supported too; in SLURM a run saves on SIGUSR1 and is requeued",
    ),
];

//! ColossalAI 0.0.1 and 0.0.2: `colossalai.trainer`, `colossalai.engine`, `colossalai.nn.lr_scheduler`.

use super::Here::{Always, Api, As, Command, Keys, No, NotYet, Same, Types};
use super::{Row, Section, Seed, Subject, row};

const NO_LOGGER: (&str, &str) = ("logger", "- what hooks log goes to the run's own log");
const ALONE: &str = "tensor parallelism is not here: ranks train data parallel";
const T: (&str, &str) = ("total_steps", "- the length of the run");

pub(super) static COLOSSALAI: Seed = Seed {
    name: "ColossalAI",
    about: "Priorities are levels: lower first. The values of its guide's list are those of `configs/seeds/colossalai.toml`.",
    sections: &[
        Section { title: "Points", subject: Subject::Point, rows: POINTS },
        Section { title: "Hooks", subject: Subject::Hook, rows: HOOKS },
        Section { title: "Metrics", subject: Subject::Metric, rows: METRICS },
        Section { title: "Learning rate schedules", subject: Subject::Scheduler, rows: SCHEDULES },
        Section { title: "Trainer, engine and config", subject: Subject::Other, rows: OTHER },
    ],
};

const POINTS: &[Row] = &[
    row("after_hook_is_attached", Same, "means `on_attach`"),
    row("before_train", Same, ""),
    row("after_train", Same, "here also after a failure"),
    row("before_train_epoch", Same, ""),
    row("after_train_epoch", Same, ""),
    row("before_train_iter", Same, ""),
    row("after_train_iter", Same, "output, label and loss are lent by the handle, not passed"),
    row(
        "before_test",
        Same,
        "of `hookrack eval`; the evaluation within training is `before_val`, both are `before_eval`",
    ),
    row("after_test", Same, "likewise `after_val`, `after_eval`"),
    row("before_test_epoch", Same, "likewise `before_val_epoch`, `before_eval_epoch`"),
    row("after_test_epoch", Same, "likewise `after_val_epoch`, `after_eval_epoch`"),
    row("before_test_iter", Same, "likewise `before_val_iter`, `before_eval_iter`"),
    row("after_test_iter", Same, "likewise `after_val_iter`, `after_eval_iter`"),
    row(
        "pre_fwd_exec",
        NotYet,
        "hooks on single modules of a model (op hooks): `after_forward` is of the whole model",
    ),
    row("post_fwd_exec", NotYet, "as above"),
    row("pre_bwd_exec", NotYet, "as above; `before_backward` is of the whole model"),
    row("post_bwd_exec", NotYet, "as above; `after_backward` is of the whole model"),
    row("post_iter", As("after_iter"), ""),
];

const HOOKS: &[Row] = &[
    row("LossHook", Same, "brings the metric `Loss`, in training and evaluation")
        .with(&[("priority", "level")]),
    row("AccuracyHook", Same, "stands for the metric `Accuracy`").with(&[("accuracy_func", "")]),
    row("Accuracy2DHook", NotYet, ALONE),
    row("Accuracy2p5DHook", NotYet, ALONE),
    row("Accuracy3DHook", NotYet, ALONE)
        .with(&[("input_parallel_mode", "- not yet"), ("weight_parallel_mode", "- not yet")]),
    row("MetricHook", Same, "`metric` names the metric's type; a metric of your own is a plugin"),
    row(
        "ThroughputHook",
        Same,
        "puts the scalars `train/throughput` and `val/throughput`; the metric is `Throughput`",
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
        ("timer", "- times are always taken"),
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
        "the rate is the scalar `train/lr`, which hooks can watch like a metric",
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
    row("LambdaLR", Same, "a config has no functions: a list of factors")
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
    row("WarmupScheduler", As("Warmup"), "`warmup_divisor = \"w+1\"`, its rise (t+1)/(w+1)")
        .with(&[("warmup_epochs", "warmup_steps"), ("after_scheduler", "schedule")]),
    row(
        "WarmupDelayerScheduler",
        As("Warmup"),
        "`warmup_divisor = \"w\"`, its rise (t+1)/w, around a `Sequential`",
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
        "progress is shown unless it is given; `ProgressBar` says what",
    ),
    row(
        "Trainer.fit(return_output_label)",
        Always,
        "output and label are lent to every hook; nothing is copied",
    ),
    row("Trainer.evaluate", Command("eval", "--checkpoint"), ""),
    row(
        "Trainer.predict",
        Command("predict", "--checkpoint"),
        "here with the points of prediction",
    ),
    row("Trainer.save", Api(&["request_checkpoint"]), ""),
    row(
        "Trainer.load",
        Keys(&["weights.path", "weights.strict", "train.load_from"]),
        "weights alone; all of a run by `hookrack train --resume`",
    ),
    row(
        "verbose",
        Command("plan", "--json"),
        "the order of hooks at every point; `train` logs it, too",
    ),
    row(
        "runner.states",
        Api(&["state", "put_state", "remove_state"]),
        "values that hooks share by name",
    ),
    row("states['metrics']", Api(&["metric_objects", "metric_object", "metrics"]), ""),
    row("init_runner_states", Api(&["state", "put_state"]), "set it where `state` gives none"),
    row("Metric.is_better", Api(&["is_better"]), ""),
    row("Metric.get_last_step_value", Api(&["step"]), "of a metric object"),
    row(
        "Metric.get_accumulated_value",
        Api(&["so_far", "last"]),
        "of a metric object; reading changes nothing",
    ),
    row("Engine(model)", Keys(&["model.type"]), ""),
    row("Engine(criterion)", Keys(&["loss.type"]), ""),
    row("Engine(optimizer)", Keys(&["optimizer.type", "optimizer.lr"]), ""),
    row("Engine(lr_scheduler)", Keys(&["lr_scheduler.type"]), ""),
    row("Engine(clip_grad_norm)", Keys(&["train.clip_grad_norm"]), "zh guide: `gradient_clipping`"),
    row(
        "Engine(gradient_accumulation)",
        Keys(&["train.accumulate_grad_batches"]),
        "batches of the loader for one step",
    ),
    row(
        "Engine(gradient_handlers)",
        Always,
        "the reducer sums gradients over ranks while backward runs; `[distributed]` says how",
    ),
    row("Engine(ophook_list)", NotYet, "hooks on single modules"),
    row(
        "Engine.zero_grad, backward, step",
        Api(&["backward", "optimizer_step"]),
        "of a hook that has the role; gradients are zeroed by the host",
    ),
    row("NoPipelineSchedule", Types(&["NoPipeline"]), "also `NonPipelineSchedule`"),
    row(
        "PipelineSchedule",
        NotYet,
        "pipelines over processes: `num_microbatches`, `tensor_shape`, `scatter_gather_tensors`",
    ),
    row("InterleavedPipelineSchedule", NotYet, "likewise, `num_model_chunks`"),
    row("parallel", NotYet, "tensor, pipeline and data parallelism"),
    row("zero", Keys(&["optimizer.shard"]), "stage 1; parameters and gradients are not sharded"),
    row(
        "fp16(mode)",
        Keys(&["train.precision", "train.loss_scaler"]),
        "as `torch.amp` does it (TORCH)",
    ),
    row("num_epochs, num_steps", Keys(&["train.max_epochs", "train.max_iters"]), ""),
    row("seed", Keys(&["train.seed"]), ""),
    row(
        "cudnn_benchmark, cudnn_deterministic",
        No,
        "one config gives one result here; there is no faster mode that differs",
    ),
    row(
        "launch, from_slurm, from_openmpi, from_torch",
        Command("launch", "--ranks"),
        "ranks also come from torchrun's, SLURM's, Open MPI's and PMI's variables; in SLURM a run saves on SIGUSR1 and is queued again",
    ),
];

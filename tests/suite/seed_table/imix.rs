//! iMIX: `imix.engine`, `imix.solver`, `imix.evaluation`, its configs.

use super::Here::{Always, Api, As, Command, Keys, No, Same, Types};
use super::{Row, RowKind, Section, Seed, row};

const VISION: &str = "needs several reference answers, or OCR texts, per question";
const WARM: (&str, &str) = ("num_warmup_steps", "");

pub(super) static IMIX: Seed = Seed {
    name: "iMIX",
    about: "hookrack has the same levels, from HIGHEST 0 to LOWEST 60, as names or any integer.",
    sections: &[
        Section { title: "Points", subject: RowKind::Point, rows: POINTS },
        Section { title: "Hooks", subject: RowKind::Hook, rows: HOOKS },
        Section { title: "Metrics", subject: RowKind::Metric, rows: METRICS },
        Section { title: "Learning rate schedules", subject: RowKind::Scheduler, rows: SCHEDULES },
        Section { title: "Engine, config and command line", subject: RowKind::Other, rows: OTHER },
    ],
};

const POINTS: &[Row] = &[
    row("before_train", Same, ""),
    row("before_train_epoch", Same, ""),
    row("before_train_iter", Same, ""),
    row("after_train_iter", Same, ""),
    row("after_train_epoch", Same, ""),
    row("after_train", Same, "also called after a failure"),
];

const HOOKS: &[Row] = &[
    row("AutogradAnomalyDetectHook", Same, "listed in iMIX's guide, but not in its code")
        .with(&[("mode", "")]),
    row("AutogradProfilerHook", Same, "likewise")
        .with(&[("output_dir", ""), ("enable_predicate", "wait")]),
    row("CheckPointHook", Same, "").with(&[
        ("prefix", ""),
        ("iter_period", ""),
        ("epoch_period", ""),
        ("max_num_checkpoints", ""),
        ("level", ""),
    ]),
    row("EvaluateHook", Same, "").with(&[
        ("eval_function", "- the metrics of `[[metrics]]`"),
        ("eval_iter_period", ""),
        ("is_run_eval", ""),
        ("eval_json_file", ""),
    ]),
    row("IterationTimerHook", Same, "").with(&[("warmup_iter", "")]),
    row("LRSchedulerHook", Same, "")
        .with(&[("optimizer", "optimizer.type"), ("scheduler", "lr_scheduler.type")]),
    row("OptimizerHook", Same, "").with(&[("grad_clip", "")]),
    row("Fp16OptimizerHook", Same, "").with(&[("grad_clip", ""), ("grad_scaler_config", "")]),
    row("PeriodicLogger", Same, "").with(&[
        ("loggers", "- the console, `metrics.json`, and those that hooks open"),
        ("period", ""),
    ]),
    row("CommonMetricLoggerHook", Same, "").with(&[("max_iter", ""), ("max_epoch", "")]),
    row("JSONLoggerHook", Same, "`training_status.json`").with(&[("work_dir", "")]),
    row("TensorboardLoggerHook", Same, "").with(&[("work_dir", "")]),
    row("EMAIterHook", Same, "in the bundled plugin `ema`; `init_ema = true` starts as iMIX does")
        .with(&[("level", ""), ("init_ema", "")]),
    row("EMAEpochHook", Same, "likewise").with(&[("level", ""), ("init_ema", "")]),
    row("TextLoggerHook", Same, "").with(&[("text", "")]),
    row("MomentumSchedulerHook", Same, "an empty class in iMIX"),
];

const METRICS: &[Row] = &[
    row("Accuracy", Same, ""),
    row("F1", Same, "`average = \"binary\"` for class 1 only"),
    row("MacroF1", Same, ""),
    row("RecallAtK", Same, "").with(&[("k", "")]),
    row("RecallAt1", Same, ""),
    row("RecallAt5", Same, ""),
    row("RecallAt10", Same, ""),
    row("MeanRank", Same, ""),
    row("MeanReciprocalRank", Same, ""),
    row("CaptionBleu4", Same, "with one reference per sample, its label"),
    row("TextCapsBleu4", As("Bleu4"), "over tokens; texts are not tokenized"),
    row("VQAAccuracy", No, VISION),
    row("VQAEvalAIAccuracy", No, VISION),
    row(
        "VisDial",
        No,
        "see `MeanRank`, `MeanReciprocalRank` and `RecallAtK`; `ndcg` needs the relevance of every candidate",
    ),
    row("VCRAccuracy", No, "a combination of two accuracies: use `Accuracy` for each"),
    row("TextVQAAccuracy", No, VISION),
    row("STVQA_ANLS", No, VISION),
    row("STVQAAccuracy", No, VISION),
    row("OCRVQAAccuracy", No, VISION),
];

const SCHEDULES: &[Row] = &[
    row("WarmupMultiStepLR", Same, "with `warmup_method = \"scaled_linear\"`").with(&[
        ("milestones", ""),
        ("gamma", ""),
        ("warmup_factor", ""),
        ("warmup_iters", "warmup_iter"),
        ("warmup_method", ""),
    ]),
    row("WarmupCosineLR", Same, "likewise").with(&[
        ("max_iters", "- the length of the run"),
        ("warmup_factor", ""),
        ("warmup_iters", "warmup_iter"),
        ("warmup_method", ""),
    ]),
    row("ReduceOnPlateauSchedule", Same, "").with(&[
        ("factor", ""),
        ("patience", ""),
        ("threshold", ""),
        ("cooldown", ""),
        ("min_lr", ""),
        ("mode", ""),
        ("eps", ""),
    ]),
    row("PythiaScheduler", Same, "").with(&[
        ("lr_steps", ""),
        ("lr_ratio", ""),
        ("use_warmup", ""),
        ("warmup_iterations", ""),
        ("warmup_factor", ""),
    ]),
    row("MultiStepScheduler", Same, "").with(&[
        ("lr_steps", ""),
        ("lr_ratio", ""),
        ("use_warmup", ""),
        ("warmup_iterations", ""),
        ("warmup_factor", ""),
    ]),
    row("WarmupLinearScheduleNonZero", Same, "").with(&[
        ("warmup_iterations", ""),
        ("t_total", "- the length of the run"),
        ("min_lr", ""),
    ]),
    row("BertWarmupLinearLR", Same, "").with(&[
        ("warmup", ""),
        ("warmup_method", ""),
        ("t_total", "- the length of the run"),
    ]),
    row("ConstantSchedule", Same, ""),
    row("WarmupConstantSchedule", Same, "").with(&[WARM]),
    row("WarmupLinearSchedule", Same, "").with(&[WARM]),
    row("WarmupCosineSchedule", Same, "").with(&[WARM, ("num_cycles", "")]),
    row("WarmupCosineWithHardRestartsSchedule", Same, "").with(&[WARM, ("num_cycles", "")]),
    row("WarmupPolynomialSchedule", Same, "").with(&[WARM, ("lr_end", ""), ("power", "")]),
    row("StepLR", Same, "iMIX accepts PyTorch's schedulers by name"),
    row("MultiStepLR", Same, "likewise"),
    row("ExponentialLR", Same, "likewise"),
    row("CosineAnnealingLR", Same, "likewise").with(&[("T_max", "t_max"), ("eta_min", "")]),
    row("CosineAnnealingWarmRestarts", Same, "likewise").with(&[
        ("T_0", "t_0"),
        ("T_mult", "t_mult"),
        ("eta_min", ""),
    ]),
    row("ReduceLROnPlateau", Same, "likewise"),
    row("CyclicLR", Same, "likewise"),
    row("OneCycleLR", Same, "likewise"),
    row("LambdaLR", Same, "likewise, with a list of factors"),
    row("MultiplicativeLR", Same, "likewise, with a list of factors"),
    row("LinearLR", Same, "likewise"),
    row("ConstantLR", Same, "constant; for PyTorch's initial factor use a `Sequential`"),
    row("PolynomialLR", Same, "likewise; set `end_lr = 0.0` for PyTorch's"),
];

const OTHER: &[Row] = &[
    row("custom_hooks", Keys(&["custom_hooks.type", "custom_hooks.level"]), ""),
    row("hk.trainer", Api(&["state", "metrics", "scalars"]), "hooks share values, not objects"),
    row("log_buffer.put_scalar", Api(&["put_scalar", "scalar_key"]), ""),
    row("log_buffer.put_image, put_histogram", Api(&["put_image", "put_histogram"]), ""),
    row("log_buffer.name_scope", Api(&["scoped"]), ""),
    row("model", Keys(&["model.type"]), ""),
    row("optimizer", Keys(&["optimizer.type"]), ""),
    row(
        "optimizer_config.grad_clip",
        Keys(&["train.clip_grad_norm", "custom_hooks.grad_clip"]),
        "",
    ),
    row("fp16", Keys(&["train.precision", "train.loss_scaler"]), ""),
    row("lr_config.policy", Keys(&["lr_scheduler.type"]), ""),
    row("total_epochs", Keys(&["train.max_epochs"]), ""),
    row("by_iter, max_iter", Keys(&["train.max_iters"]), ""),
    row("log_config.period", Keys(&["default_hooks.logger.period"]), ""),
    row("work_dir", Keys(&["run.dir"]), "or `--run-dir`"),
    row("load_from", Keys(&["train.load_from"]), ""),
    row("resume_from", Command("train", "--resume"), "also in the middle of an epoch"),
    row("seed", Keys(&["train.seed"]), ""),
    row(
        "gradient_accumulation_steps",
        Keys(&["train.accumulate_grad_batches"]),
        "an iteration is one optimizer step",
    ),
    row("is_lr_accumulation", Always, "schedules count optimizer steps, as with `true`"),
    row(
        "checkpoint_config",
        Keys(&["default_hooks.checkpoint.iter_period", "default_hooks.checkpoint.epoch_period"]),
        "",
    ),
    row("eval_iter_period", Keys(&["default_hooks.evaluate.eval_iter_period"]), ""),
    row("test_data.is_run_eval", Keys(&["default_hooks.evaluate.is_run_eval"]), ""),
    row("find_unused_parameters", Keys(&["distributed.find_unused_parameters"]), ""),
    row("_base_, _delete_", Keys(&["_base_", "_delete_"]), ""),
    row("{{ DirName }}", No, "paths are relative to the file that names them"),
    row("EMA model", Types(&["EMAIterHook", "EMAEpochHook", "SWAHook"]), ""),
    row("--config-file", Command("train", "<CONFIG>"), ""),
    row("--load-from", Keys(&["train.load_from"]), "`-s train.load_from=FILE`"),
    row("--resume-from", Command("train", "--resume"), ""),
    row("--eval-only", Command("eval", "--checkpoint"), ""),
    row("--build-submit", Command("predict", "--out"), "the outputs, as JSON lines"),
    row("Predictor", Command("predict", "--out"), ""),
    row("--work-dir", Command("train", "--run-dir"), ""),
    row("--seed", Command("train", "--set"), "`-s train.seed=1`"),
    row(
        "--gpus, --machines, --node-rank, --master-addr, --master-port",
        Command("launch", "--ranks"),
        "several machines: torchrun, SLURM, MPI",
    ),
];

//! LiBai: `libai.engine`, `libai.scheduler`, `libai.evaluation`, its configs.

use super::Here::{Always, Api, As, Command, Keys, No, NotYet, Same, Types};
use super::{Row, RowKind, Section, Seed, row};

const WARM: [(&str, &str); 3] = [("warmup_factor", ""), ("warmup_iter", ""), ("warmup_method", "")];
const T: (&str, &str) = ("max_iter", "- the length of the run");

pub(super) static LIBAI: Seed = Seed {
    name: "LiBai",
    about: "In LiBai, hooks run in the order of their list; in hookrack, by level. Periods are in iterations.",
    sections: &[
        Section { title: "Points", subject: RowKind::Point, rows: POINTS },
        Section { title: "Hooks", subject: RowKind::Hook, rows: HOOKS },
        Section { title: "Evaluators", subject: RowKind::Metric, rows: EVALUATORS },
        Section { title: "Learning rate schedules", subject: RowKind::Scheduler, rows: SCHEDULES },
        Section { title: "Events and writers", subject: RowKind::Other, rows: EVENTS },
        Section { title: "Trainer, config and command line", subject: RowKind::Other, rows: OTHER },
    ],
};

const POINTS: &[Row] = &[
    row("before_train", Same, ""),
    row("after_train", Same, "also called after a failure"),
    row("before_step", Same, "means `before_train_iter`; keep it cheap"),
    row("after_step", Same, "means `after_train_iter`"),
    row(
        "run_step",
        As("on_iter_forward"),
        "together with `on_iter_backward`, `on_optimizer_step` and `on_lr_adjust`, the roles of a step",
    ),
];

const HOOKS: &[Row] = &[
    row("CallbackHook", No, "a config cannot contain functions; programs that use hookrack as a library have `hookrack::hooks::CallbackHook`").with(&[
        ("before_train", "- a closure for that point"),
        ("after_train", "- likewise"),
        ("before_step", "- likewise"),
        ("after_step", "- likewise"),
    ]),
    row("IterationTimer", Same, "").with(&[("warmup_iter", "")]),
    row("LRScheduler", Same, "logs `train/lr`, the learning rate of the largest group").with(&[
        ("optimizer", "optimizer.type"),
        ("scheduler", "lr_scheduler.type"),
    ]),
    row("PeriodicCheckpointer", Same, "").with(&[
        ("checkpointer", "- the run's own"),
        ("period", ""),
        ("max_iter", ""),
        ("max_to_keep", ""),
        ("file_prefix", ""),
    ]),
    row("EvalHook", Same, "").with(&[
        ("eval_period", ""),
        ("eval_function", "- the metrics of `[[metrics]]`"),
    ]),
    row("BestCheckpointer", Same, "in contrast to LiBai, the best value survives a resume").with(&[
        ("eval_period", ""),
        ("checkpointer", "- the run's own"),
        ("val_metric", ""),
        ("mode", ""),
        ("file_prefix", ""),
    ]),
    row("PeriodicWriter", Same, "").with(&[("writers", ""), ("period", "")]),
];

const EVALUATORS: &[Row] = &[
    row("ClsEvaluator", As("RecallAtK"), "`Acc@1` is `Accuracy`, `Acc@5` is `RecallAt5`")
        .with(&[("topk", "k")]),
    row("PPLEvaluator", As("Perplexity"), ""),
    row("BLEUEvaluator", As("BLEU"), ""),
    row("RegEvaluator", As("Pearson"), "and `Spearman`; there is no metric for their mean, `corr`"),
    row("DatasetEvaluators", No, "use several entries of `[[metrics]]`"),
];

const SCHEDULES: &[Row] = &[
    row("WarmupCosineLR", Same, "").with(&[T, WARM[0], WARM[1], WARM[2], ("alpha", "")]),
    row("WarmupCosineAnnealingLR", Same, "").with(&[T, WARM[0], WARM[1], WARM[2], ("eta_min", "")]),
    row("WarmupStepLR", Same, "").with(&[
        T,
        WARM[0],
        WARM[1],
        WARM[2],
        ("step_size", ""),
        ("gamma", ""),
    ]),
    row("WarmupMultiStepLR", Same, "").with(&[
        T,
        WARM[0],
        WARM[1],
        WARM[2],
        ("milestones", ""),
        ("gamma", ""),
    ]),
    row("WarmupExponentialLR", Same, "").with(&[T, WARM[0], WARM[1], WARM[2], ("gamma", "")]),
    row("WarmupPolynomialLR", Same, "").with(&[
        ("max_iter", ""),
        WARM[0],
        WARM[1],
        WARM[2],
        ("end_learning_rate", ""),
        ("power", ""),
        ("cycle", ""),
    ]),
];

const EVENTS: &[Row] = &[
    row("EventStorage.put_scalar", Api(&["put_scalar"]), ""),
    row("EventStorage.put_scalars", Api(&["put_scalar"]), "one call each"),
    row("smoothing_hint", Api(&["scalar_key"]), "its second argument"),
    row("EventStorage.put_image", Api(&["put_image"]), ""),
    row("EventStorage.put_histogram", Api(&["put_histogram"]), ""),
    row("EventStorage.history", Api(&["history"]), ""),
    row(
        "HistoryBuffer.latest, median, avg, global_avg",
        Api(&["latest", "median", "mean", "global_mean"]),
        "",
    ),
    row("EventStorage.latest", Api(&["scalars"]), ""),
    row("EventStorage.latest_with_smoothing_hint", Api(&["median"]), ""),
    row("EventStorage.name_scope", Api(&["scoped"]), ""),
    row("EventStorage.iter, samples", Api(&["iter", "samples"]), ""),
    row("get_event_storage", No, "there is no global storage; hooks log through their handle"),
    row(
        "CommonMetricPrinter",
        Types(&["CommonMetricLoggerHook"]),
        "the console output is always on",
    ),
    row("JSONWriter", Always, "`metrics.json` of the run directory"),
    row(
        "TensorboardXWriter",
        Types(&["TensorboardLoggerHook"]),
        "or `writers` of `PeriodicWriter`",
    ),
];

const OTHER: &[Row] = &[
    row("EagerTrainer", Keys(&["train.mode"]), "`eager`"),
    row("GraphTrainer", Keys(&["train.mode"]), "`graph`"),
    row(
        "grad_acc_steps",
        Keys(&["train.accumulate_grad_batches"]),
        "in hookrack an iteration is one optimizer step; in LiBai's eager mode, one micro-batch",
    ),
    row(
        "DefaultTrainer.build_*",
        Keys(&[
            "model.type",
            "optimizer.type",
            "lr_scheduler.type",
            "data.train",
            "data.test",
            "metrics",
            "custom_hooks",
        ]),
        "by their sections",
    ),
    row(
        "build_tokenizer",
        Types(&["Tokens", "Text"]),
        "token ids of any tokenizer saved with NumPy, or bytes or characters of a text",
    ),
    row("train.train_iter", Keys(&["train.max_iters"]), ""),
    row(
        "train.train_epoch",
        Keys(&["train.max_epochs"]),
        "if both are set, the run ends at whichever comes first; in LiBai, at the later one",
    ),
    row("train.warmup_ratio", Keys(&["lr_scheduler.warmup_ratio"]), ""),
    row(
        "milestones as ratios",
        Keys(&["lr_scheduler.milestones"]),
        "numbers below 1 are fractions of the run",
    ),
    row("eval_after_n_epoch", Keys(&["default_hooks.evaluate.interval"]), ""),
    row("save_model_after_n_epoch", Keys(&["default_hooks.checkpoint.epoch_period"]), ""),
    row(
        "train_micro_batch_size, global_batch_size",
        Keys(&["train.batch_size", "train.accumulation"]),
        "the batch size of a step, and its number of micro-batches",
    ),
    row("test_micro_batch_size", Keys(&["data.test.batch_size"]), ""),
    row("train.output_dir", Keys(&["run.dir", "run.name"]), "or `--run-dir`"),
    row("train.amp", Keys(&["train.precision"]), ""),
    row("train.activation_checkpoint", NotYet, "activations are not recomputed"),
    row("train.zero_optimization", Keys(&["optimizer.shard"]), "stage 1"),
    row("train.checkpointer.period", Keys(&["default_hooks.checkpoint.period"]), ""),
    row("train.checkpointer.max_to_keep", Keys(&["default_hooks.checkpoint.max_to_keep"]), ""),
    row("train.evaluation.enabled", Keys(&["default_hooks.evaluate.is_run_eval"]), ""),
    row("train.evaluation.eval_period", Keys(&["default_hooks.evaluate.eval_period"]), ""),
    row("train.evaluation.eval_iter", Keys(&["data.val.first"]), "in samples"),
    row(
        "train.evaluation.eval_metric, eval_mode",
        Keys(&["default_hooks.checkpoint.save_best", "default_hooks.checkpoint.mode"]),
        "",
    ),
    row("train.load_weight", Keys(&["train.load_from", "weights.path"]), ""),
    row("train.log_period", Keys(&["default_hooks.logger.period"]), ""),
    row("train.seed", Keys(&["train.seed"]), ""),
    row(
        "train.dist",
        Keys(&["schedule.stages", "schedule.split", "parallel.data"]),
        "`pipeline_parallel_size`, `custom_pipeline_stage_id`, `data_parallel_size`; there is no tensor parallelism",
    ),
    row("optim.lr, weight_decay", Keys(&["optimizer.lr", "optimizer.weight_decay"]), ""),
    row(
        "clip_grad_max_norm, clip_grad_norm_type",
        Keys(&["train.clip_grad_norm", "train.clip_grad_norm_type"]),
        "",
    ),
    row("no weight decay on norm and bias", Keys(&["optimizer.no_decay_on_norm_and_bias"]), ""),
    row(
        "LazyCall, _target_",
        No,
        "components are named by `type` and built after the whole config is read",
    ),
    row("relative imports of configs", Keys(&["_base_"]), ""),
    row("a.b=c on the command line", Command("train", "--set"), ""),
    row("--resume", Command("train", "--resume"), ""),
    row(
        "--fast-dev-run",
        Command("train", "--fast-dev-run"),
        "one batch of train and val, or N; in LiBai, 20 iterations",
    ),
    row("--eval-only", Command("eval", "--checkpoint"), ""),
    row("inference_on_dataset", Command("eval", "--out"), "several test sets: `[data.tests.NAME]`"),
    row(
        "model_final, model_best, last_checkpoint",
        Always,
        "`latest` and `best` next to the checkpoints; `file_prefix` adds names",
    ),
    row("consumed_samples", Always, "a resume continues with the next batch"),
];

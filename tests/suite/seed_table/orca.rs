//! Orca of BigDL 2.4: `orca.learn.pytorch`.

use super::Here::{Always, Api, As, Command, Keys, No, NotYet, Same, Types};
use super::{Row, RowKind, Section, Seed, row};

pub(super) static ORCA: Seed = Seed {
    name: "Orca",
    about: "In Orca, callbacks run in the order of their list; in hookrack, by level. Its tutorial lists 23 points, its code has 24. `configs/seeds/orca.toml` has its callbacks.",
    sections: &[
        Section { title: "Points", subject: RowKind::Point, rows: POINTS },
        Section { title: "Callbacks", subject: RowKind::Hook, rows: CALLBACKS },
        Section { title: "Metrics", subject: RowKind::Metric, rows: METRICS },
        Section { title: "What a callback sees", subject: RowKind::Other, rows: ATTRIBUTES },
        Section { title: "Estimator", subject: RowKind::Other, rows: OTHER },
    ],
};

const BOTH: &str = "also called if the hook implements the specific point";

const POINTS: &[Row] = &[
    row("on_run_begin", Same, "means `before_run`"),
    row("on_run_end", Same, "means `after_run`"),
    row("on_epoch_begin", Same, "means `before_epoch`"),
    row("on_epoch_end", Same, "means `after_epoch`"),
    row("on_iter_begin", Same, "means `before_iter`"),
    row("on_iter_end", Same, "means `after_iter`"),
    row("before_run", Same, "also called before evaluation and prediction"),
    row("after_run", Same, "also called after a failure"),
    row("before_epoch", Same, BOTH),
    row("after_epoch", Same, BOTH),
    row("before_iter", Same, BOTH),
    row("after_iter", Same, BOTH),
    row("before_train_epoch", Same, ""),
    row("after_train_epoch", Same, "before the validation; `after_cycle` comes after it"),
    row("before_train_iter", Same, ""),
    row("after_train_iter", Same, ""),
    row("before_val_epoch", Same, ""),
    row("after_val_epoch", Same, ""),
    row("before_val_iter", Same, ""),
    row("after_val_iter", Same, ""),
    row("before_pred_epoch", Same, ""),
    row("after_pred_epoch", Same, ""),
    row("before_pred_iter", Same, ""),
    row("after_pred_iter", Same, ""),
    row("on_iter_forward", Same, "a role: exactly one hook has it"),
    row("on_train_forward", Same, "a role; falls back to `on_iter_forward`, as in Orca"),
    row("on_val_forward", Same, "likewise; also for tests"),
    row("on_pred_forward", Same, "likewise"),
    row(
        "on_iter_backward",
        Same,
        "a role; the optimizer step is a separate role, `on_optimizer_step`",
    ),
    row(
        "on_lr_adjust",
        Same,
        "a role, called after each iteration, or after each epoch with `by_epoch`",
    ),
];

const CALLBACKS: &[Row] = &[
    row(
        "MainCallback",
        As("MainHook"),
        "a custom hook with a role replaces it there; two are an error",
    ),
    row("ModelCheckpoint", Same, "").with(&[
        ("filepath", ""),
        ("save_weights_only", ""),
        ("by_epoch", ""),
        ("interval", ""),
    ]),
    row("TensorBoardCallback", Same, "").with(&[("log_dir", ""), ("freq", "")]),
    row("TqdmCallback", Same, ""),
    row("MaxstepsCallback", Same, "stops a run early; its length is `train.max_iters`")
        .with(&[("max_step", "")]),
    row(
        "WandbLoggerCallback",
        No,
        "not built in; `WebhookHook` and `PrometheusHook` export values",
    )
    .with(&[
        ("project", "- none"),
        ("log_config", "- TensorBoard has the config as hyperparameters"),
        ("watch_model", "- `WeightHistogramHook` has histograms of weights and gradients"),
    ]),
];

const METRICS: &[Row] = &[
    row("Accuracy", Same, ""),
    row("SparseCategoricalAccuracy", Same, ""),
    row("CategoricalAccuracy", Same, "labels are class probabilities"),
    row("BinaryAccuracy", As("Accuracy"), "`threshold = 0.5` for outputs that are probabilities")
        .with(&[("threshold", "")]),
    row("Top5Accuracy", Same, ""),
    row("MSE", Same, ""),
    row("MAE", Same, ""),
    row("BinaryCrossEntropy", Same, "`logits = false` for probabilities"),
    row("CategoricalCrossEntropy", Same, ""),
    row("SparseCategoricalCrossEntropy", Same, ""),
    row("KLDivergence", Same, ""),
    row("Poisson", Same, ""),
    row("AUROC", Same, ""),
    row("AUC", Same, ""),
    row(
        "ROC",
        Same,
        "its value is the area; the curve is an image in TensorBoard and in the report",
    ),
    row("F1Score", Same, ""),
    row("Precision", Same, ""),
    row("Recall", Same, ""),
    row("PrecisionRecallCurve", Same, "its value is the average precision; the curve as above"),
    row("CustomizedMetric", No, "write a custom metric as a plugin"),
];

const ATTRIBUTES: &[Row] = &[
    row("num_epochs", Api(&["max_epochs"]), ""),
    row("epochs", Api(&["epoch"]), "counted from 1"),
    row("global_step", Api(&["iter"]), ""),
    row("batch_idx", Api(&["inner_iter"]), "counted from 1"),
    row("batch", Api(&["input", "label"]), "valid until the end of the iteration"),
    row("output", Api(&["output", "set_output"]), ""),
    row("target", Api(&["label"]), ""),
    row("loss", Api(&["loss", "set_loss"]), ""),
    row("model", Api(&["model", "forward", "params", "param_names"]), ""),
    row("optimizer", Api(&["optimizer_step", "group_lr", "set_group_lr"]), ""),
    row("scheduler", Api(&["lr_step", "lr", "set_lr"]), ""),
    row("criterion", Api(&["criterion"]), ""),
    row("train_loader, val_loader", Api(&["begin_pass", "next_of_pass", "inner_len"]), ""),
    row("rank, size", Api(&["rank", "world_size"]), ""),
    row(
        "config",
        Always,
        "a hook's settings are its fields; the config of the run is `config.toml` in the run directory",
    ),
    row("epoch_stats, metrics_stats", Api(&["metrics", "scalars"]), ""),
    row("stop", Api(&["request_stop"]), "with a reason; ends the run after a checkpoint"),
    row(
        "put, update, get, remove",
        Api(&["put_state", "state", "remove_state"]),
        "values shared between hooks",
    ),
    row("every_n_iter, every_n_epoch", Keys(&["custom_hooks.every"]), "`\"10it\"`, `\"2ep\"`"),
];

const OTHER: &[Row] = &[
    row("Estimator.fit(epochs, batch_size)", Keys(&["train.max_epochs", "train.batch_size"]), ""),
    row(
        "Estimator.fit(profile)",
        Always,
        "`run.json` always has the time of each hook at each point, and of each phase",
    ),
    row("Estimator.fit(validation_data)", Keys(&["data.val"]), ""),
    row("Estimator.fit(callbacks)", Keys(&["custom_hooks"]), ""),
    row("Estimator.evaluate", Command("eval", "--checkpoint"), ""),
    row("Estimator.predict", Command("predict", "--checkpoint"), ""),
    row(
        "Estimator.save, load",
        Command("export", "--to"),
        "`hookrack train --resume` resumes from a checkpoint",
    ),
    row("get_latest_checkpoint", Always, "`checkpoints/latest`"),
    row(
        "model_creator, optimizer_creator, loss_creator, scheduler_creator",
        Keys(&["model.type", "optimizer.type", "loss.type", "lr_scheduler.type"]),
        "",
    ),
    row("data_creator", Keys(&["data.train", "data.val"]), ""),
    row("use_tqdm", Types(&["ProgressBar"]), ""),
    row(
        "several models, optimizers, schedulers",
        NotYet,
        "a run has one of each; parameter groups can have different learning rates",
    ),
    row(
        "backend torch_distributed, horovod, spark, ray",
        Command("launch", "--ranks"),
        "like torch_distributed; the others are not supported",
    ),
    row("sync_stats", Always, "metrics and the loss are merged over ranks"),
];

//! Orca of BigDL 2.4: `orca.learn.pytorch`.

use super::Here::{Always, Api, As, Command, Keys, No, NotYet, Same, Types};
use super::{Row, Section, Seed, Subject, row};

pub(super) static ORCA: Seed = Seed {
    name: "Orca",
    about: "Its callbacks run in the order of their list; here by level. Its tutorial counts 23 points, its code has 24. `configs/seeds/orca.toml` has its callbacks.",
    sections: &[
        Section { title: "Points", subject: Subject::Point, rows: POINTS },
        Section { title: "Callbacks", subject: Subject::Hook, rows: CALLBACKS },
        Section { title: "Metrics", subject: Subject::Metric, rows: METRICS },
        Section { title: "What a callback sees", subject: Subject::Other, rows: ATTRIBUTES },
        Section { title: "Estimator", subject: Subject::Other, rows: OTHER },
    ],
};

const BOTH: &str = "the specific one does not silence the general one here";

const POINTS: &[Row] = &[
    row("on_run_begin", Same, "means `before_run`"),
    row("on_run_end", Same, "means `after_run`"),
    row("on_epoch_begin", Same, "means `before_epoch`"),
    row("on_epoch_end", Same, "means `after_epoch`"),
    row("on_iter_begin", Same, "means `before_iter`"),
    row("on_iter_end", Same, "means `after_iter`"),
    row("before_run", Same, "here also before evaluation and prediction"),
    row("after_run", Same, "here also after a failure"),
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
    row("on_train_forward", Same, "a role; falls back on `on_iter_forward`, as there"),
    row("on_val_forward", Same, "likewise, also of tests"),
    row("on_pred_forward", Same, "likewise"),
    row(
        "on_iter_backward",
        Same,
        "a role; the optimizer's step is a role of its own, `on_optimizer_step`",
    ),
    row(
        "on_lr_adjust",
        Same,
        "a role; after each iteration, or after each epoch by `by_epoch`: rules by `batch_idx` work",
    ),
];

const CALLBACKS: &[Row] = &[
    row(
        "MainCallback",
        As("MainHook"),
        "a hook that has a role takes it from the built-in one; two are an error",
    ),
    row("ModelCheckpoint", Same, "").with(&[
        ("filepath", ""),
        ("save_weights_only", ""),
        ("by_epoch", ""),
        ("interval", ""),
    ]),
    row("TensorBoardCallback", Same, "").with(&[("log_dir", ""), ("freq", "")]),
    row("TqdmCallback", Same, ""),
    row("MaxstepsCallback", Same, "it shortens a run; the length itself is `train.max_iters`")
        .with(&[("max_step", "")]),
    row(
        "WandbLoggerCallback",
        No,
        "no client of a service is built in; `WebhookHook` and `PrometheusHook` give values away",
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
    row("CategoricalAccuracy", Same, "labels are shares of the classes"),
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
        "value: the area; the curve is a picture in TensorBoard and a figure in the report",
    ),
    row("F1Score", Same, ""),
    row("Precision", Same, ""),
    row("Recall", Same, ""),
    row("PrecisionRecallCurve", Same, "value: the average precision; the curve as above"),
    row("CustomizedMetric", No, "a metric of your own is a plugin"),
];

const ATTRIBUTES: &[Row] = &[
    row("num_epochs", Api(&["max_epochs"]), ""),
    row("epochs", Api(&["epoch"]), "from 1 on"),
    row("global_step", Api(&["iter"]), ""),
    row("batch_idx", Api(&["inner_iter"]), "from 1 on"),
    row("batch", Api(&["input", "label"]), "there until the iteration's last point"),
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
        "a hook's own settings are its fields; the run's are in `config.toml` of the run directory",
    ),
    row("epoch_stats, metrics_stats", Api(&["metrics", "scalars"]), ""),
    row("stop", Api(&["request_stop"]), "with a reason; the whole run ends, after a checkpoint"),
    row("put, update, get, remove", Api(&["put_state", "state", "remove_state"]), "the pocket"),
    row(
        "every_n_iter, every_n_epoch",
        Keys(&["custom_hooks.every"]),
        "`\"10it\"`, `\"2ep\"`: the host filters",
    ),
];

const OTHER: &[Row] = &[
    row("Estimator.fit(epochs, batch_size)", Keys(&["train.max_epochs", "train.batch_size"]), ""),
    row(
        "Estimator.fit(profile)",
        Always,
        "the time of each hook at each point, and of each phase, is always in `run.json`",
    ),
    row("Estimator.fit(validation_data)", Keys(&["data.val"]), ""),
    row("Estimator.fit(callbacks)", Keys(&["custom_hooks"]), ""),
    row("Estimator.evaluate", Command("eval", "--checkpoint"), ""),
    row("Estimator.predict", Command("predict", "--checkpoint"), ""),
    row(
        "Estimator.save, load",
        Command("export", "--to"),
        "checkpoints are taken up by `hookrack train --resume`",
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
        "a run has one of each; parameter groups have rates of their own",
    ),
    row(
        "backend torch_distributed, horovod, spark, ray",
        Command("launch", "--ranks"),
        "torch_distributed; the others are not here",
    ),
    row("sync_stats", Always, "metrics and the loss are merged over ranks"),
];

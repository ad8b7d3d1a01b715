//! The points of a run come in exactly the order that the drawing in `plugin-api/src/point.rs` shows.

use crate::workbench::Bench;

/// A training iteration of two micro-batches, whose learning rate is adjusted by iteration.
const ITERATION: &str = "before_iter before_train_iter \
    on_train_forward after_forward before_backward on_iter_backward after_backward \
    on_train_forward after_forward before_backward on_iter_backward after_backward \
    before_optimizer_step on_optimizer_step after_optimizer_step on_lr_adjust after_train_iter after_iter";

/// A training iteration in one piece, whose learning rate is adjusted by epoch.
const PLAIN_ITERATION: &str = "before_iter before_train_iter \
    on_train_forward after_forward before_backward on_iter_backward after_backward \
    before_optimizer_step on_optimizer_step after_optimizer_step after_train_iter after_iter";

/// A validation over two batches.
const VALIDATION: &str = "before_val before_eval before_epoch before_eval_epoch before_val_epoch \
    before_iter before_eval_iter before_val_iter on_val_forward after_forward after_val_iter after_eval_iter after_iter \
    before_iter before_eval_iter before_val_iter on_val_forward after_forward after_val_iter after_eval_iter after_iter \
    after_val_epoch after_eval_epoch after_epoch after_eval after_val";

const SAVING: &str = "before_save_checkpoint after_save_checkpoint";

const RECORDER: &str =
    "[[custom_hooks]]\ntype = \"RoleRecorder\"\nname = \"r\"\nfile = \"calls\"\n";

/// The points of a record, in their order.
fn points(calls: &str) -> Vec<String> {
    calls.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

/// The points of a drawing.
fn drawn(pieces: &[&str]) -> Vec<String> {
    pieces.iter().flat_map(|piece| piece.split_whitespace()).map(str::to_owned).collect()
}

/// `phase epoch iter inner_iter` at each occurrence of a point.
fn places<'a>(calls: &'a str, point: &str) -> Vec<&'a str> {
    let places = calls.lines().filter_map(|line| line.split_once(' ')?.1.split_once(' '));
    places.filter(|(name, _)| *name == point).map(|(_, place)| place).collect()
}

#[test]
fn two_epochs_of_two_iterations_with_validation_and_accumulation() {
    let bench = Bench::new(RECORDER);
    bench.trained("run", &["-s", "train.accumulation=2"]);
    let calls = bench.take("calls");
    let epoch = |at_end| {
        drawn(&[
            "before_epoch before_train_epoch",
            ITERATION,
            ITERATION,
            "after_train_epoch after_epoch",
            VALIDATION,
            "after_cycle",
            SAVING,
            at_end,
        ])
    };
    let expected = [
        drawn(&["on_attach before_run before_train"]),
        epoch(""),
        epoch("after_train after_run on_detach"),
    ];
    assert_eq!(points(&calls), expected.concat());
    assert_eq!(
        places(&calls, "after_train_iter"),
        ["train 1 1 1", "train 1 2 2", "train 2 3 1", "train 2 4 2"]
    );
    assert_eq!(
        places(&calls, "after_val_iter"),
        ["val 1 2 1", "val 1 2 2", "val 2 4 1", "val 2 4 2"]
    );
    assert_eq!(places(&calls, "after_cycle"), ["train 1 2 2", "train 2 4 2"]);
}

#[test]
fn a_limit_by_iteration_ends_within_an_epoch_and_validation_and_saving_may_be_due_by_iteration() {
    let bench = Bench::new(&format!(
        "{RECORDER}[lr_scheduler]\ntype = \"CosineAnnealingWarmupLR\"\nby_epoch = true\nwarmup_steps = 1\n\
         [default_hooks]\nevaluate = {{ interval = 0, eval_iter_period = 2 }}\n\
         checkpoint = {{ epoch_period = 0, iter_period = 2 }}\n"
    ));
    let config = bench.read("config.toml").replace("max_epochs = 2", "max_iters = 3");
    bench.write("config.toml", &config);
    bench.trained("run", &[]);
    let calls = bench.take("calls");
    let expected = drawn(&[
        "on_attach before_run before_train",
        "before_epoch before_train_epoch",
        PLAIN_ITERATION,
        PLAIN_ITERATION,
        // Due by iteration, in the last one of the epoch: in the epoch's slots.
        "on_lr_adjust after_train_epoch after_epoch",
        VALIDATION,
        "after_cycle",
        SAVING,
        "before_epoch before_train_epoch",
        PLAIN_ITERATION,
        // The last weights are validated.
        "on_lr_adjust after_train_epoch after_epoch",
        VALIDATION,
        "after_cycle",
        SAVING,
        "after_train after_run on_detach",
    ]);
    assert_eq!(points(&calls), expected);
    assert_eq!(places(&calls, "after_train_iter"), ["train 1 1 1", "train 1 2 2", "train 2 3 1"]);
}

#[test]
fn eval_runs_the_test_points_and_predict_the_pred_points_inside_a_run() {
    let bench = Bench::new(RECORDER);
    bench.trained("run", &[]);
    bench.take("calls");
    bench.run(["eval", "config.toml", "--checkpoint", "run"]).expect(0);
    let test = VALIDATION.replace("before_val", "before_test").replace("after_val", "after_test");
    let (begin, end) = ("on_attach before_run after_load_checkpoint", "after_run on_detach");
    assert_eq!(points(&bench.take("calls")), drawn(&[begin, &test, end]));

    bench.run(["predict", "config.toml", "--checkpoint", "run"]).expect(0);
    let iteration =
        "before_iter before_pred_iter on_pred_forward after_forward after_pred_iter after_iter";
    let expected = drawn(&[
        begin,
        "before_pred before_epoch before_pred_epoch",
        iteration,
        iteration,
        "after_pred_epoch after_epoch after_pred",
        end,
    ]);
    assert_eq!(points(&bench.take("calls")), expected);
}

#[test]
fn the_general_forward_role_serves_every_phase() {
    let bench = Bench::new("[[custom_hooks]]\ntype = \"GeneralRecorder\"\nfile = \"calls\"\n");
    bench.trained("run", &[]);
    let epoch = [
        "on_iter_forward train",
        "on_iter_forward train",
        "on_iter_forward val",
        "on_iter_forward val",
    ];
    let calls = bench.take("calls");
    let forwards =
        calls.lines().map(|line| line.split(' ').skip(1).take(2).collect::<Vec<_>>().join(" "));
    assert_eq!(forwards.collect::<Vec<_>>(), [epoch, epoch].concat());
    bench.run(["predict", "config.toml", "--checkpoint", "run"]).expect(0);
    assert_eq!(places(&bench.take("calls"), "on_iter_forward").len(), 2);
}

#[test]
fn a_hook_runs_as_often_as_every_and_phase_say() {
    let recorder = |name: &str, keys: &str| {
        format!(
            "[[custom_hooks]]\ntype = \"Recorder\"\nname = \"{name}\"\nfile = \"{name}\"\n{keys}\n"
        )
    };
    let bench = Bench::new(
        &[
            recorder("iters", "every = \"3it\""),
            recorder("epochs", "every = \"2ep\""),
            recorder("val", "phase = \"val\""),
        ]
        .concat(),
    );
    bench.trained("run", &[]);
    let seen = |file: &str, point: &str| places(&bench.read(file), point).join(", ");
    assert_eq!(seen("iters", "after_train_iter"), "train 2 3 1");
    assert_eq!(seen("iters", "after_train_epoch"), "train 1 2 2, train 2 4 2");
    assert_eq!(seen("epochs", "after_train_iter"), "train 2 3 1, train 2 4 2");
    assert_eq!(seen("epochs", "after_val"), "val 2 4 2");
    assert_eq!(seen("val", "after_iter"), "val 1 2 1, val 1 2 2, val 2 4 1, val 2 4 2");
    assert_eq!(seen("val", "after_train_iter"), "");
    for brackets in ["iters", "epochs", "val"] {
        assert_eq!(places(&bench.read(brackets), "after_train").len(), 1);
    }
}

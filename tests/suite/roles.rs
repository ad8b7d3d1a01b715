//! Hooks that take the main hook's roles over: a loss of their own without `[loss]`, a learning rate rule by hand.

use crate::workbench::{Bench, RunFolder};

const FOCAL: &str = "[[custom_hooks]]\ntype = \"FocalLossHook\"\nlibrary = \"libroles.so\"\n";
const RULE: &str =
    "[[custom_hooks]]\ntype = \"IterRuleHook\"\nlibrary = \"libroles.so\"\nwarmup_iters = 2\n";

fn losses(run: &RunFolder) -> [f64; 2] {
    ["train/loss", "val/loss"].map(|name| run.scalar(name))
}

#[test]
fn a_hook_with_a_loss_of_its_own_trains_and_evaluates_without_a_configured_one() {
    let bench = Bench::without_loss(FOCAL);
    let focal = bench.trained("focal", &[]);
    let plain = bench.trained("plain", &["custom_hooks.0.gamma=0"]);
    let reference = Bench::new("");
    let wanted = reference.trained("run", &[]);
    let (focal, plain, wanted) = (losses(&focal), losses(&plain), losses(&wanted));
    // Two ways to a logarithm of a softmax, a mean and four steps: some hundred roundings of numbers of about 1, each 6e-8.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
    assert!(
        plain.iter().zip(&wanted).all(near),
        "gamma = 0 is cross entropy: {plain:?}, {wanted:?}"
    );
    assert!(focal.iter().zip(&wanted).all(|(a, b)| a + 1e-3 < *b), "{focal:?}, {wanted:?}");
    bench.run(["eval", "config.toml", "--checkpoint", "focal"]).expect(0);
}

#[test]
fn parts_of_a_batch_add_up_to_a_loss_that_a_hook_computed() {
    let bench = Bench::without_loss(FOCAL);
    // Plain steps: Adam makes a whole one of what rounding leaves of a gradient of 0.
    let sgd = ["optimizer.type=SGD", "optimizer.lr=0.1"];
    let whole = bench.trained("whole", &sgd);
    let parts = bench.trained("parts", &[&sgd[..], &["train.accumulation=3"]].concat());
    // As above: some hundred roundings of numbers of about 1.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
    assert!(losses(&whole).iter().zip(&losses(&parts)).all(near));
}

#[test]
fn the_plan_names_the_hooks_that_have_the_roles() {
    let bench = Bench::without_loss(&format!("{FOCAL}{RULE}"));
    let ran = bench.run(["plan", "config.toml"]);
    let plan = &ran.expect(0).stdout;
    let line = |point: &str| plan.lines().find(|line| line.contains(point)).unwrap_or_default();
    for point in ["on_train_forward", "on_val_forward"] {
        assert!(line(point).contains("FocalLossHook"), "{plan}");
    }
    assert!(line("on_lr_adjust").contains("IterRuleHook"), "{plan}");
}

#[test]
fn a_rule_by_hand_sets_the_rate_of_every_iteration() {
    let bench = Bench::new(RULE);
    let run = bench.trained("run", &["default_hooks.logger={interval=1}"]);
    let rates: Vec<f64> = run.series("train/lr");
    // Four iterations, a rise over two.
    let wanted =
        [1.0, 2.0, 3.0, 4.0].map(|iter: f64| 0.001 * (iter / 2.0).min((2.0 / iter).sqrt()));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    assert!(rates.len() == 4 && rates.iter().zip(&wanted).all(near), "{rates:?}, not {wanted:?}");
}

#[test]
fn a_missing_loss_is_an_error_where_the_main_hook_needs_it() {
    Bench::without_loss("").run(["check", "config.toml"]).expect(2).says(&["[loss]"]);
    Bench::without_loss(RULE).run(["check", "config.toml"]).expect(2).says(&["[loss]"]);
}

/// The rate falls once nothing gets better any more, whatever the metric; at a rate of 0 that is at once.
#[test]
fn a_plateau_of_a_metric_lowers_the_rate_and_is_remembered() {
    let plateau = "[lr_scheduler]\ntype = \"ReduceOnPlateauSchedule\"\nmetric = \"val/Accuracy\"\nmode = \"max\"\nfactor = 0.5\npatience = 0\nthreshold = 10.0\nthreshold_mode = \"abs\"\n";
    let bench = Bench::new(plateau);
    let run = bench.trained("run", &["train.max_epochs=4"]);
    let rates: Vec<f64> = run.series("train/lr");
    // The first accuracy is the best so far; none is better by ten. The rate of the last epoch is logged, not the next one.
    assert!((rates.last().unwrap() - 0.001 / 4.0).abs() < 1e-12, "{rates:?}");
    bench.trained("run", &["--resume", "train.max_epochs=5"]);
    assert!((run.scalar("train/lr") - 0.001 / 8.0).abs() < 1e-12);
}

//! Hooks that end a run.

use super::bench;

#[test]
fn a_run_that_stops_improving_ends_and_says_why() {
    // A rate of 0 learns nothing: the first look sets the best value, two more find nothing better.
    let bench = bench("EarlyStoppingHook", "patience = 2\nmonitor = \"val/loss\"\n");
    let (ran, run) = bench.train("run", &["train.max_epochs=9", "optimizer.lr=0.0"]);
    ran.expect(0).prints(&["val/loss has not improved on"]);
    assert_eq!(run.record()["outcome"], "stopped");
    assert_eq!(run.record()["epoch"], 3);
    let (ran, run) = bench.train("reached", &["custom_hooks.0.stopping_threshold=1000.0"]);
    ran.expect(0).prints(&["val/loss has reached"]);
    assert_eq!(run.record()["epoch"], 1);
    let unclear = ["custom_hooks.0.monitor=train/lr"];
    let (ran, _) = bench.train("unclear", &unclear);
    ran.expect(4).says(&["not known whether a higher `train/lr` is better", "before_train"]);
    bench.trained("told", &[&unclear[..], &["custom_hooks.0.mode=max"]].concat());
}

#[test]
fn a_nan_loss_ends_the_run_before_it_reaches_the_parameters() {
    let bench = bench("TerminateOnNaN", "");
    let (ran, run) = bench.train("run", &["optimizer.lr=1e38"]);
    ran.expect(4).says(&["the loss is ", "in iteration "]);
    assert!(run.checkpoints().is_empty());
}

#[test]
fn a_run_whose_time_is_up_stops_and_can_be_continued() {
    let bench = bench("Timer", "max_time = \"0.000001s\"\n");
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0).prints(&["has passed"]);
    assert_eq!((run.record()["iter"].as_u64(), run.checkpoints().len()), (Some(1), 1));
    let soon = "custom_hooks.0.max_time=soon";
    bench.check(&[soon]).expect(2).says(&["max_time: `soon` is not a duration"]);
}

#[test]
fn an_anomaly_is_traced_to_its_operator_and_parameter() {
    let bench = bench("AutogradAnomalyDetectHook", "");
    let (ran, run) = bench.train("run", &["optimizer.lr=1e38"]);
    ran.expect(4)
        .says(&["in iteration 2 of epoch 1", "Backward0 is the first whose gradient is NaN"]);
    ran.says(&["is not finite"]);
    assert!(run.checkpoints().is_empty());
    let (ran, _) = bench.train("always", &["optimizer.lr=1e38", "custom_hooks.0.always=true"]);
    assert_ne!(ran.code, Some(0));
    ran.says(&["Backward0"]);
    bench.trained("fine", &[]);
}

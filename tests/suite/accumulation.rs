//! Several batches make one iteration: one step of the optimizer, of the gradient of all their samples.

use crate::resume::assert_same;
use crate::workbench::{Bench, RunFolder, hook};
use serde_json::Value as Json;

/// 40 samples, classes of unequal weight, a schedule by iteration, metrics of training; no clock.
const CONFIG: &str = r#"
[lr_scheduler]
type = "CosineAnnealingWarmupLR"
warmup_ratio = 0.25
[default_hooks]
timer = false
logger = { interval = 1 }
checkpoint = { iter_period = 1 }
[[metrics]]
type = "Accuracy"
name = "TrainAccuracy"
phase = "train"
"#;

const SETTINGS: [&str; 5] = [
    "data.train.samples=40",
    "loss.class_weights=[0.1, 1.0, 5.0]",
    "optimizer.type=SGD",
    "optimizer.lr=0.5",
    "train.max_epochs=2",
];

fn train(bench: &Bench, name: &str, more: &[&str]) -> RunFolder {
    let all: Vec<_> = SETTINGS.iter().chain(more).copied().collect();
    bench.trained(name, &all)
}

fn weights(run: &RunFolder, iter: u64) -> Vec<f32> {
    let all = run.model(iter);
    let mut names: Vec<_> = all.into_iter().collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names.into_iter().flat_map(|(_, numbers)| numbers).collect()
}

fn state(run: &RunFolder, iter: u64) -> Json {
    run.json(&format!("checkpoints/iter_{iter:07}/state.json"))
}

/// Ten batches of 4 in groups of three are 12, 12, 12 and 4 samples: what batches of 12 are. Only the order of summation differs: a
/// gradient of about 1 goes through some 50 roundings of 6e-8, eight steps of rate 0.5 add them up to 1e-5, and 1e-4 leaves a factor
/// of ten for what training makes of them. Weighing a batch wrongly moves the weights by more than a hundredth.
#[test]
fn batches_that_accumulate_make_the_step_of_one_large_batch() {
    let bench = Bench::new(CONFIG);
    let large = train(&bench, "large", &["train.batch_size=12"]);
    let small = ["train.batch_size=4", "train.accumulate_grad_batches=3"];
    for (name, more) in [
        ("small", &[][..]),
        ("both", &["train.accumulation=2"]),
        ("uneven", &["train.accumulation=3"]),
    ] {
        let run = train(&bench, name, &[&small[..], more].concat());
        assert_eq!(run.record()["iter"], 8, "{name}: four iterations an epoch");
        for iter in [1, 4, 8] {
            let (one, other) = (weights(&large, iter), weights(&run, iter));
            assert_eq!(one.len(), other.len());
            let far = one.iter().zip(&other).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(far < 1e-4, "{name}, iteration {iter}: weights differ by {far}");
        }
        let position = |run: &RunFolder, iter| {
            let position = state(run, iter)["position"].clone();
            ["epoch", "iter", "inner_iter", "samples", "lr_position"]
                .map(|key| position[key].clone())
        };
        for iter in [1, 4, 5, 8] {
            assert_eq!(position(&run, iter), position(&large, iter), "{name}, iteration {iter}");
        }
        for scalar in ["train/loss_epoch", "train/TrainAccuracy", "train/lr"] {
            let (one, other) = (large.scalar(scalar), run.scalar(scalar));
            assert!((one - other).abs() < 1e-4, "{name}: {scalar} is {other}, not {one}");
        }
    }
}

#[test]
fn a_checkpoint_in_the_middle_of_an_epoch_counts_batches() {
    let bench = Bench::new(CONFIG);
    let group = ["train.accumulate_grad_batches=3", "train.accumulation=2"];
    let whole = train(&bench, "whole", &group);
    assert_eq!(state(&whole, 2)["position"]["drawn"], 6);
    assert_eq!(state(&whole, 4)["position"]["drawn"], 10, "the last iteration has one batch");
    for until in ["1", "3", "6"] {
        let name = format!("until_{until}");
        let cut: Vec<_> = group.iter().chain(&["--until", until]).copied().collect();
        train(&bench, &name, &cut);
        let resumed: Vec<_> = group.iter().chain(&["--resume"]).copied().collect();
        assert_same(&whole, &train(&bench, &name, &resumed), &name);
    }
}

#[test]
fn another_number_of_batches_is_refused_on_resume() {
    let bench = Bench::new(CONFIG);
    train(&bench, "run", &["--until", "2"]);
    let (ran, _) = bench
        .train("run", &[&SETTINGS[..], &["train.accumulate_grad_batches=2", "--resume"]].concat());
    ran.expect(2).says(&["train.accumulate_grad_batches", "the number of batches per iteration"]);
}

#[test]
fn hooks_see_each_part_and_then_the_whole_iteration() {
    let bench = Bench::new(&hook("Recorder", "name = 'r'\nfile = 'calls'"));
    bench.trained(
        "run",
        &["train.accumulate_grad_batches=2", "train.accumulation=2", "train.max_epochs=1"],
    );
    let calls = bench.take("calls");
    let times = |point: &str| {
        let of_train = |line: &&str| line.contains(&format!(" {point} train "));
        calls.lines().filter(of_train).count()
    };
    assert_eq!(
        [times("after_backward"), times("before_optimizer_step"), times("after_train_iter")],
        [4, 1, 1],
        "{calls}"
    );
}

#[test]
fn a_run_ends_by_whichever_limit_comes_first() {
    let bench = Bench::new("");
    for (epochs, iters, wanted) in [(2, 3, [3, 2]), (1, 100, [2, 1]), (5, 4, [4, 2])] {
        let name = format!("run_{epochs}_{iters}");
        let (epochs, iters) =
            (format!("train.max_epochs={epochs}"), format!("train.max_iters={iters}"));
        let run = bench.trained(&name, &[&epochs, &iters]);
        let record = run.record();
        assert_eq!(
            [&record["iter"], &record["epoch"]],
            [&Json::from(wanted[0]), &wanted[1].into()],
            "{name}"
        );
        assert_eq!(record["outcome"], "completed");
    }
}

//! A run that ended before its time goes on as if nothing had happened, bit for bit.

use crate::event_files;
use crate::workbench::{Bench, RunFolder};
use serde_json::Value as Json;
use std::fs;

/// Randomness in the model, averaged weights, a schedule, metrics of training and validation, checkpoints in the
/// middle of epochs. No clock: how long an iteration took is never the same.
const RICH: &str = r#"
[lr_scheduler]
type = "CosineAnnealingLR"
[default_hooks]
timer = false
logger = { interval = 3 }
checkpoint = { iter_period = 4 }
[[metrics]]
type = "Accuracy"
name = "TrainAccuracy"
phase = "train"
[[custom_hooks]]
type = "EMAIterHook"
momentum = 0.5
[[custom_hooks]]
type = "Faulty"
name = "bad"
file = "own"
at = "nowhere"
how = "stop"
"#;

/// Ten iterations an epoch, three epochs.
const SETTINGS: [&str; 8] = [
    "-s",
    "model.dropout=0.3",
    "-s",
    "data.train.samples=40",
    "-s",
    "train.max_epochs=3",
    "-s",
    "optimizer.type=AdamW",
];

fn bench() -> Bench {
    Bench::new(RICH)
}

fn train(bench: &Bench, name: &str, more: &[&str]) -> (crate::workbench::Ran, RunFolder) {
    let all: Vec<_> = SETTINGS.iter().chain(more).copied().collect();
    bench.train(name, &all)
}

/// Insists that two runs have come to the same end.
#[track_caller]
pub(crate) fn assert_same(one: &RunFolder, two: &RunFolder, what: &str) {
    let last = one.checkpoints().pop().unwrap();
    assert_eq!(two.checkpoints().pop().unwrap(), last, "{what}");
    for file in ["model", "optimizer", "hooks", "run"] {
        let name = format!("checkpoints/{last}/{file}.safetensors");
        let bytes = |run: &RunFolder| fs::read(run.path.join(&name)).unwrap();
        assert!(bytes(one) == bytes(two), "{what}: {name} differs");
    }
    let state = |run: &RunFolder| {
        let text = run.text(&format!("checkpoints/{last}/state.json"));
        let mut state: Json = serde_json::from_str(&text).unwrap();
        state["provenance"].take();
        // Its files are named by time and process; what is in them is compared below.
        if let Some(writers) = state["writers"].as_object_mut() {
            writers.remove("tensorboard");
        }
        state
    };
    assert_eq!(state(one), state(two), "{what}");
    assert_eq!(one.text("metrics.json"), two.text("metrics.json"), "{what}");
    if one.path.join("tb").exists() {
        let shown = |run: &RunFolder| event_files::shown(&run.path.join("tb"));
        let (one, two) = (shown(one), shown(two));
        assert!(!one.is_empty(), "{what}");
        for (name, row) in &one {
            assert!(two.get(name) == Some(row), "{what}: TensorBoard's {name} differs");
        }
        assert!(two.keys().eq(one.keys()), "{what}: TensorBoard shows more");
    }
}

#[test]
fn a_run_goes_on_bit_for_bit_from_wherever_it_was_cut() {
    let bench = bench();
    let (ran, whole) = train(&bench, "whole", &[]);
    ran.expect(0);
    let cuts = [
        ("before_train_iter", "sigkill", 9, "with a checkpoint in the middle of an epoch"),
        ("after_train_iter", "sigterm", 7, "in the middle of an epoch"),
        ("after_train_iter", "sigint", 10, "in the last iteration of an epoch"),
        ("after_val_iter", "sigterm", 20, "in a validation"),
        ("after_cycle", "sigterm", 20, "between two epochs"),
        ("after_train_iter", "stop", 13, "by a hook"),
        ("before_save_checkpoint", "sigkill", 24, "on the way to a checkpoint"),
        ("before_train_iter", "sigkill", 2, "before the first checkpoint"),
    ];
    for (number, (at, how, iter, what)) in cuts.into_iter().enumerate() {
        let name = format!("cut{number}");
        let bad = |key: &str, value: &str| format!("custom_hooks.bad.{key}={value}");
        let (at, how, iter) = (bad("at", at), bad("how", how), bad("iter", &iter.to_string()));
        let (ran, _) = train(&bench, &name, &["--resume", "-s", &at, "-s", &how, "-s", &iter]);
        assert!(ran.code != Some(0) || what == "by a hook", "{what}: it was not cut");
        let (ran, run) = train(&bench, &name, &["--resume"]);
        ran.expect(0);
        assert_same(&whole, &run, what);
        assert_eq!(run.record()["outcome"], "completed");
    }
}

#[test]
fn a_run_in_sixteen_bits_goes_on_bit_for_bit_with_its_loss_scale() {
    let bench = bench();
    let scaler = "train.loss_scaler={init_scale=1e9, growth_interval=3}";
    for precision in ["fp16", "bf16"] {
        let chosen = format!("train.precision={precision}");
        let sixteen = |name: &str, more: &[&str]| {
            let more: Vec<_> = ["-s", &chosen, "-s", scaler].iter().chain(more).copied().collect();
            train(&bench, &format!("{precision}-{name}"), &more)
        };
        let (ran, whole) = sixteen("whole", &[]);
        ran.expect(0);
        // Steps were left out, and the scale went down and up again: there is a state to lose.
        assert!(precision == "bf16" || whole.scalar("train/skipped_steps") >= 2.0);
        for (at, how, iter) in [
            ("before_train_iter", "sigkill", 6),
            ("after_train_iter", "sigterm", 13),
            ("after_val_iter", "sigint", 20),
        ] {
            let bad = |key: &str, value: &str| format!("custom_hooks.bad.{key}={value}");
            let name = format!("{how}-{iter}");
            let (at, how, iter) = (bad("at", at), bad("how", how), bad("iter", &iter.to_string()));
            let (ran, _) = sixteen(&name, &["--resume", "-s", &at, "-s", &how, "-s", &iter]);
            assert_ne!(ran.code, Some(0), "{name}: it was not cut");
            let (ran, run) = sixteen(&name, &["--resume"]);
            ran.expect(0);
            assert_same(&whole, &run, &format!("{precision}, {name}"));
        }
    }
}

#[test]
fn a_run_goes_on_after_ten_million_samples_as_it_would_have() {
    // How long an iteration took is never the same.
    let bench = Bench::new("[default_hooks]\ntimer = false\n");
    let many = ["-s", "data.train.samples=20000000", "-s", "train.batch_size=1000000"];
    let until = |name: &str, more: &[&str]| {
        let (ran, run) = bench.train(name, &[&many[..], more].concat());
        ran.expect(0);
        run
    };
    let whole = until("whole", &["--until", "11"]);
    until("cut", &["--until", "10"]);
    // That no sample is read on the way there is for the loader's own tests to count.
    let run = until("cut", &["--until", "11", "--resume"]);
    assert!(run.record()["resumed_from"].as_str().unwrap().ends_with("iter_0000010"));
    assert_same(&whole, &run, "after ten million samples");
    let state = run.text("checkpoints/iter_0000011/state.json");
    let state: Json = serde_json::from_str(&state).unwrap();
    assert_eq!(state["position"]["samples"], 11_000_000);
}

#[test]
fn a_resumed_epoch_is_not_begun_again() {
    let bench = Bench::new("[[custom_hooks]]\ntype = \"Recorder\"\nfile = \"calls\"\n");
    let (at, how) = ("custom_hooks.bad.at=after_train_iter", "custom_hooks.bad.how=sigterm");
    bench.write(
        "config.toml",
        &(bench.read("config.toml")
            + "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"bad\"\nfile = \"own\"\nat = \"nowhere\"\nhow = \"stop\"\n"),
    );
    bench.train("run", &["-s", at, "-s", how, "-s", "custom_hooks.bad.iter=3"]).0.expect(143);
    bench.take("calls");
    bench.train("run", &["--resume"]).0.expect(0);
    let calls = bench.take("calls");
    let points: Vec<_> = calls.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    let begun = |name: &str| points.iter().filter(|point| **point == name).count();
    assert_eq!((begun("before_train"), begun("after_load_checkpoint")), (1, 1));
    assert_eq!((begun("before_train_epoch"), begun("before_train_iter")), (0, 1));
    assert_eq!((begun("after_train_epoch"), begun("after_cycle")), (1, 1));
}

#[test]
fn a_damaged_newest_checkpoint_is_reported_and_the_one_before_it_used() {
    let bench = bench();
    let (_, whole) = train(&bench, "whole", &[]);
    let (_, run) = train(&bench, "run", &[]);
    fs::write(run.path.join("checkpoints/iter_0000030/model.safetensors"), "nonsense").unwrap();
    let (ran, run) = train(&bench, "run", &["--resume"]);
    ran.expect(0)
        .says(&["iter_0000030/model.safetensors is damaged", "the checkpoint before it is used"]);
    assert!(run.record()["resumed_from"].as_str().unwrap().ends_with("iter_0000028"));
    assert_same(&whole, &run, "after damage");
}

#[test]
fn what_differs_is_told_and_what_cannot_work_is_refused_until_it_is_forced() {
    let bench = bench();
    train(&bench, "run", &["-s", "train.max_epochs=1"]).0.expect(0);
    let (ran, run) =
        train(&bench, "run", &["--resume", "-s", "custom_hooks.EMAIterHook.momentum=0.25"]);
    ran.expect(0).says(&["custom_hooks.EMAIterHook.momentum: 0.25 was 0.5"]);
    assert_eq!(run.record()["iter"], 30);

    let other = ["--resume", "-s", "train.seed=5", "-s", "train.max_epochs=4"];
    train(&bench, "run", &other).0.expect(2).says(&[
        "does not fit this config",
        "train.seed: 5 was 1 (the order of the samples is another)",
        "--force",
    ]);
    let forced: Vec<_> = other.iter().copied().chain(["--force"]).collect();
    let (ran, run) = train(&bench, "run", &forced);
    ran.expect(0);
    assert_eq!(run.record()["iter"], 40);
}

#[test]
fn a_checkpoint_may_be_named_and_later_ones_are_passed_over() {
    let bench = bench();
    let (_, whole) = train(&bench, "whole", &[]);
    let (_, run) = train(&bench, "run", &[]);
    let named = "run/checkpoints/iter_0000012";
    let config = SETTINGS.iter().copied();
    let args = ["train", "config.toml", "--resume", named].into_iter().chain(config.clone());
    bench.run(args).expect(0);
    assert_same(&whole, &run, "from an older one");
    // In a folder of its own it is another run, and the old one stays as it is.
    let args =
        ["train", "config.toml", "--resume", named, "--run-dir", "fork"].into_iter().chain(config);
    bench.run(args).expect(0);
    let fork = RunFolder { path: bench.path("fork") };
    assert_eq!(fork.scalars()[0]["iter"], 15, "the first interval of the logger after 12");
    assert_eq!(fork.checkpoints().last(), whole.checkpoints().last());
}

#[test]
fn two_processes_do_not_train_in_one_folder() {
    let bench = bench();
    let (_, run) = train(&bench, "run", &[]);
    let lock = fs::File::options().write(true).open(run.path.join(".lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    train(&bench, "run", &["--resume"]).0.expect(6).says(&["is in use by another process"]);
}

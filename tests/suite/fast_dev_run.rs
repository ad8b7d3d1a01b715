//! `hookrack train --fast-dev-run`: a few batches of everything, and nothing left.

use crate::workbench::{Bench, Ran, hook};
use std::fs;

/// Long epochs, rare validation, and a hook that writes down its points.
const LONG: &str = "[default_hooks.evaluate]\ninterval = 3\n[default_hooks.checkpoint]\niter_period = 1\n\
                    [[custom_hooks]]\ntype = \"Recorder\"\nfile = \"calls\"\n";

/// Trains in the folder, with its own folder for temporary files.
fn try_out(bench: &Bench, more: &[&str]) -> Ran {
    fs::create_dir_all(bench.path("tmp")).unwrap();
    let mut command = bench.command(["train", "config.toml"].iter().chain(more));
    Ran::of(command.env("TMPDIR", bench.path("tmp")))
}

/// What is in the folder, temporary files too.
fn names(bench: &Bench) -> Vec<String> {
    let entries = |name: &str| fs::read_dir(bench.path(name)).unwrap();
    let all = entries("").chain(entries("tmp"));
    let mut names: Vec<_> =
        all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// How often a point was reached.
fn count(bench: &Bench, point: &str) -> usize {
    bench.points("calls").iter().filter(|name| *name == point).count()
}

#[test]
fn a_hook_is_tried_however_seldom_it_runs() {
    let bench = Bench::new(&format!("{LONG}every = \"1000it\"\n"));
    try_out(&bench, &["--fast-dev-run"]).expect(0);
    assert_eq!((count(&bench, "after_train_iter"), count(&bench, "after_val_iter")), (1, 1));
}

#[test]
fn a_batch_of_train_and_val_with_all_points_and_nothing_left() {
    let bench = Bench::new(LONG);
    let ran = try_out(&bench, &["--fast-dev-run", "train.max_epochs=50"]);
    ran.expect(0).prints(&[
        "fast dev run: 1 epoch of 1 batch of train and val; no checkpoints, no run directory",
        "completed after 1 epochs, 1 iterations",
        "val/Accuracy",
    ]);
    for gone in ["run directory:", "report:", "hookrack-fast-dev-run"] {
        assert!(!ran.stdout.contains(gone), "{}", ran.stdout);
    }
    assert_eq!(names(&bench), ["calls", "config.toml", "plugins", "tmp"]);
    for (point, times) in [
        ("before_train", 1),
        ("after_train_iter", 1),
        ("after_train_epoch", 1),
        ("after_val_iter", 1),
        ("after_val", 1),
        ("after_cycle", 1),
        ("after_train", 1),
        ("after_run", 1),
        ("on_detach", 1),
    ] {
        assert_eq!(count(&bench, point), times, "{point}");
    }
    assert!(count(&bench, "before_save_checkpoint") > 0);
    assert_eq!(count(&bench, "before_save_checkpoint"), count(&bench, "after_save_checkpoint"));
}

#[test]
fn as_many_batches_as_requested_or_as_there_are() {
    for (asked, batches) in [("2", 2), ("7", 2)] {
        let bench = Bench::new(LONG);
        try_out(&bench, &["--fast-dev-run", asked]).expect(0).prints(&["es of train and val"]);
        let counts = ["after_train_iter", "after_val_iter"].map(|point| count(&bench, point));
        assert_eq!(counts, [batches; 2], "{asked}");
    }
    // A batch of the loader is a part of an iteration here.
    let bench = Bench::new(LONG);
    let grouped = ["--fast-dev-run", "2", "train.accumulate_grad_batches=2"];
    try_out(&bench, &grouped).expect(0).prints(&["after 1 epochs, 1 iterations"]);
}

#[test]
fn a_failing_dry_run_leaves_nothing_either() {
    let bench = Bench::new(&hook(
        "Faulty",
        "name = 'bad'\nfile = 'calls'\nat = 'after_train_iter'\nhow = 'error'\non_error = 'abort'",
    ));
    let ran = try_out(&bench, &["--fast-dev-run"]);
    ran.expect(4).says(&["hook `bad` (libfaulty.so)", "at after_train_iter, epoch 1, iteration 1"]);
    assert_eq!(names(&bench), ["calls", "config.toml", "plugins", "tmp"]);
}

#[test]
fn programs_are_reported_in_json_and_strange_requests_are_refused() {
    let bench = Bench::new("");
    let ran = try_out(&bench, &["--fast-dev-run", "--json"]);
    assert_eq!(ran.expect(0).stdout.lines().next(), Some("{\"fast_dev_run\":1}"));
    assert!(!ran.stdout.contains("run_dir"), "{}", ran.stdout);
    try_out(&bench, &["--fast-dev-run", "0"]).expect(2).says(&["must be at least 1"]);
    try_out(&bench, &["--fast-dev-run", "--resume"]).expect(2).says(&["cannot be used with"]);
    let swallowed = bench.run(["train", "--fast-dev-run", "config.toml"]);
    swallowed.expect(2).says(&["put the config before --fast-dev-run"]);
}

//! How a run can end, and which points still fire on each ending.

use crate::workbench::{Bench, Ran, faulty, hook};
use hookrack_plugin_api::point::Fires;
use hookrack_plugin_api::{Outcome, Point};

/// One way to end.
struct Case {
    at: &'static str,
    how: &'static str,
    code: i32,
    outcome: &'static str,
    why: &'static str,
    /// What the recorder, which runs after the hook that ends the run, still sees.
    then: &'static str,
    checkpoints: &'static [&'static str],
}

/// The table: in iteration 3 of 4, the first of the second epoch, something happens.
const TABLE: [Case; 9] = [
    Case {
        at: "nowhere",
        how: "error",
        code: 0,
        outcome: "completed",
        why: "",
        then: "after_train after_run on_detach",
        checkpoints: &["iter_0000002", "iter_0000004"],
    },
    Case {
        at: "after_train_iter",
        how: "stop",
        code: 0,
        outcome: "stopped",
        why: "by `bad`: enough is enough",
        then: "after_train_iter after_iter before_save_checkpoint after_save_checkpoint after_train after_run on_detach",
        checkpoints: &["iter_0000002", "iter_0000003"],
    },
    Case {
        at: "after_train_iter",
        how: "sigint",
        code: 130,
        outcome: "interrupted",
        why: "SIGINT",
        then: "after_train_iter after_iter before_save_checkpoint after_save_checkpoint after_train after_run on_detach",
        checkpoints: &["iter_0000002", "iter_0000003"],
    },
    Case {
        at: "after_train_iter",
        how: "sigterm",
        code: 143,
        outcome: "interrupted",
        why: "SIGTERM",
        then: "after_train_iter after_iter before_save_checkpoint after_save_checkpoint after_train after_run on_detach",
        checkpoints: &["iter_0000002", "iter_0000003"],
    },
    Case {
        at: "after_train_iter",
        how: "error",
        code: 4,
        outcome: "failed",
        why: "hook `bad` (libfaulty.so) failed at after_train_iter, epoch 2, iteration 3: it failed on purpose",
        then: "on_exception after_train after_run on_detach",
        checkpoints: &["iter_0000002"],
    },
    Case {
        at: "before_train",
        how: "error",
        code: 4,
        outcome: "failed",
        why: "hook `bad` (libfaulty.so) failed at before_train, epoch 0, iteration 0: it failed on purpose",
        then: "on_exception after_train after_run on_detach",
        checkpoints: &[],
    },
    Case {
        at: "before_run",
        how: "error",
        code: 4,
        outcome: "failed",
        why: "hook `bad` (libfaulty.so) failed at before_run, epoch 0, iteration 0: it failed on purpose",
        then: "on_exception after_run on_detach",
        checkpoints: &[],
    },
    Case {
        at: "before_save_checkpoint",
        how: "panic",
        code: 4,
        outcome: "failed",
        why: "hook `bad` (libfaulty.so) panicked at before_save_checkpoint, epoch 2, iteration 4: ",
        then: "on_exception after_train after_run on_detach",
        checkpoints: &["iter_0000002"],
    },
    Case {
        at: "after_cycle",
        how: "stop",
        code: 0,
        outcome: "stopped",
        why: "by `bad`: enough is enough",
        then: "after_cycle before_save_checkpoint after_save_checkpoint after_train after_run on_detach",
        checkpoints: &["iter_0000002", "iter_0000004"],
    },
];

fn bench(case: &Case) -> Bench {
    let Case { at, how, .. } = case;
    let iter = if at.starts_with("before_") && *at != "before_save_checkpoint" { 0 } else { 3 };
    recorded(at, &format!("iter = {iter}\nhow = '{how}'"))
}

/// A hook that ends the run, and a recorder that runs after it.
fn recorded(at: &str, settings: &str) -> Bench {
    let bad = faulty("bad", at, &format!("{settings}\non_error = 'abort'\nlevel = 70"));
    Bench::new(&(bad + &hook("Recorder", "name = 'r'\nfile = 'calls'\nlevel = 80")))
}

#[test]
fn after_train_and_after_run_come_on_every_ending_and_know_it() {
    for case in &TABLE {
        let bench = bench(case);
        let (ran, run) = bench.train("run", &[]);
        let what = format!("{} at {}", case.how, case.at);
        ran.expect(case.code);
        let points = bench.points("calls");
        let then: Vec<_> = case.then.split(' ').collect();
        let tail = &points[points.len().saturating_sub(then.len())..];
        assert_eq!(tail, then, "{what}");
        let record = run.record();
        assert_eq!(record["outcome"], case.outcome, "{what}");
        assert!(
            record["why"].as_str().unwrap_or_default().starts_with(case.why),
            "{what}: {record}"
        );
        assert_eq!(run.checkpoints(), case.checkpoints, "{what}");
        check_table(case, &then);
        check_outcomes(case, &bench.read("own"));
        assert!(record["hook_costs"].as_array().is_some_and(|costs| !costs.is_empty()), "{what}");
    }
}

/// The points that still came are those that [`Point::fires_on`] says.
fn check_table(case: &Case, then: &[&str]) {
    let outcome = match case.outcome {
        "completed" => Outcome::Completed,
        "stopped" => Outcome::Stopped,
        "interrupted" => Outcome::Interrupted,
        _ => Outcome::Failed,
    };
    for point in Point::ALL {
        // What never began needs no end.
        let begun = case.at != "before_run" || *point != Point::AfterTrain;
        let reached = then.contains(&point.name());
        match point.fires_on(outcome) {
            Fires::Always => {
                assert_eq!(reached, begun, "{point} after {} at {}", case.how, case.at);
            }
            Fires::Never => assert!(!reached, "{point} after {} at {}", case.how, case.at),
            Fires::InTurn => {}
        }
    }
}

/// What the hook that ends the run sees itself: the outcome from the end of training on, and not earlier.
fn check_outcomes(case: &Case, calls: &str) {
    for line in calls.lines().filter(|line| *line != "save_state") {
        let words: Vec<_> = line.split(' ').collect();
        let saved_at_the_end = words[0] == "before_save_checkpoint" && words[1] == "3";
        let over = ["after_train", "after_run", "on_detach", "on_exception"].contains(&words[0]);
        let expected = if over || saved_at_the_end { case.outcome } else { "running" };
        assert_eq!(words[2], expected, "{line} with {} at {}", case.how, case.at);
    }
}

#[test]
fn the_checkpoint_of_an_interrupted_run_can_be_evaluated() {
    let bench = bench(&TABLE[2]);
    bench.train("run", &[]).0.expect(130);
    bench
        .run(["eval", "config.toml", "--checkpoint", "run", "custom_hooks.bad.at=nowhere"])
        .expect(0);
}

#[test]
fn a_signal_in_the_middle_of_a_validation_ends_it_and_the_averaged_weights_do_not_stay() {
    let cut = faulty("bad", "after_val_iter", "how = 'sigint'");
    let bench = Bench::new(&(cut + &hook("EMAIterHook", "momentum = 0.5")));
    let (ran, run) = bench.train("cut", &[]);
    ran.expect(130);
    let whole = bench.trained("whole", &["custom_hooks.bad.at=nowhere", "train.max_epochs=1"]);
    assert_eq!(run.model(2), whole.model(2));
}

/// What ends a validation in its first batch, the exit code, and the points that follow.
const IN_VALIDATION: [(&str, &str, i32, &str); 6] = [
    (
        "after_val_iter",
        "error",
        4,
        "before_iter after_eval on_exception after_train after_run on_detach",
    ),
    (
        "after_val_iter",
        "panic",
        4,
        "before_iter after_eval on_exception after_train after_run on_detach",
    ),
    (
        "after_val_iter",
        "sigterm",
        143,
        "after_iter after_eval before_save_checkpoint after_save_checkpoint after_train after_run on_detach",
    ),
    (
        "after_val_iter",
        "stop",
        0,
        "after_epoch after_eval after_val after_cycle before_save_checkpoint after_save_checkpoint after_train after_run on_detach",
    ),
    (
        "before_eval",
        "error",
        4,
        "before_val after_eval on_exception after_train after_run on_detach",
    ),
    (
        "after_eval",
        "error",
        4,
        "after_epoch after_eval on_exception after_train after_run on_detach",
    ),
];

#[test]
fn after_eval_follows_before_eval_however_the_validation_ends() {
    for (at, how, code, then) in IN_VALIDATION {
        let bench = recorded(at, &format!("how = '{how}'"));
        bench.train("run", &[]).0.expect(code);
        let mut points = bench.points("calls");
        // Points within the batch, which differ by who failed, aside.
        let aside = [
            "before_eval_iter",
            "before_val_iter",
            "after_forward",
            "after_val_iter",
            "after_eval_iter",
        ];
        points.retain(|point| !aside.contains(&point.as_str()));
        let then: Vec<_> = then.split(' ').collect();
        assert_eq!(points[points.len() - then.len()..], then, "{how} at {at}");
    }
}

#[test]
fn a_failure_while_an_interrupted_run_is_saved_is_reported_before_after_train() {
    let one = faulty("one", "after_train_iter", "iter = 3\nhow = 'sigint'\non_error = 'abort'");
    let two = "name = 'two'\nfile = 'two'\nat = 'before_save_checkpoint'\niter = 3\nhow = 'error'\non_error = 'abort'";
    let bench = Bench::new(&(one + &hook("Faulty", two)));
    let (ran, run) = bench.train("run", &[]);
    ran.expect(4).says(&["hook `two` (libfaulty.so) failed at before_save_checkpoint"]);
    assert_eq!(run.record()["outcome"], "failed");
    let expected =
        "on_exception 3 failed\nafter_train 3 failed\nafter_run 3 failed\non_detach 3 failed\n";
    assert!(bench.read("own").ends_with(expected), "{}", bench.read("own"));
}

#[test]
fn sigusr1_saves_and_hands_the_job_back_to_slurm() {
    let bench = bench(&Case { how: "sigusr1", ..TABLE[3] });
    let scontrol = "#!/bin/sh\necho \"$@\" > \"$(dirname \"$0\")/../asked\"\n";
    std::fs::create_dir(bench.path("bin")).unwrap();
    bench.write("bin/scontrol", scontrol);
    let mut mode = std::fs::metadata(bench.path("bin/scontrol")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(bench.path("bin/scontrol"), mode).unwrap();
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    let mut command = bench.command(["train", "config.toml", "--run-dir", "run"]);
    Ran::of(command.env("PATH", path).env("SLURM_JOB_ID", "4711")).expect(143);
    assert_eq!(bench.read("asked"), "requeue 4711\n");
    let (ran, run) = bench.train("run", &["--resume", "custom_hooks.bad.at=nowhere"]);
    ran.expect(0);
    assert_eq!((&run.record()["outcome"], &run.record()["iter"]), (&"completed".into(), &4.into()));
}

#[test]
fn a_run_ends_when_its_time_is_over_and_can_be_resumed() {
    let bench = bench(&TABLE[0]);
    let (ran, run) = bench.train("run", &["train.max_time=0.001"]);
    ran.expect(0);
    let record = run.record();
    assert_eq!(record["outcome"], "stopped");
    assert!(record["why"].as_str().unwrap().starts_with("by `train.max_time`: "), "{record}");
    bench.train("run", &["--resume"]).0.expect(0);
    assert_eq!((&run.record()["outcome"], &run.record()["iter"]), (&"completed".into(), &4.into()));
}

#[test]
fn a_hook_that_cannot_save_its_state_is_dealt_with_by_its_policy() {
    for (policy, code) in [("abort", 6), ("warn", 0), ("disable", 0)] {
        let settings = format!("how = 'error'\non_error = '{policy}'");
        let bench = Bench::new(&faulty("bad", "save_state", &settings));
        let (ran, run) = bench.train("run", &[]);
        ran.expect(code).says(&["hook `bad` could not save its state"]);
        assert_eq!(run.checkpoints().is_empty(), policy == "abort", "{policy}");
    }
}

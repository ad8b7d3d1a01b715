//! `hookrack train --supervise`: a run that a plugin crashes is restarted, if necessary without that plugin.

use crate::misbehavior::{bench, bench_at};
use crate::workbench::{SAVED, faulty};
use std::fs;

/// The policy of a hook that the run can continue without.
const DISABLE: &str = "on_error = \"disable\"\n";

/// A hook that runs before all others and waits in iteration 3 until the checkpoint of iteration 2 is complete.
fn waiting() -> String {
    let waits = format!("iter = 3\nhow = 'shell'\ncommand = \"{SAVED}\"\nlevel = 1");
    faulty("waits", "after_train_iter", &waits)
}

#[test]
fn a_run_whose_plugin_crashes_ends_with_the_weights_of_the_run_without_it() {
    let bench = bench("segfault", &(DISABLE.to_owned() + &waiting()));
    let (ran, run) = bench.train("run", &["--supervise"]);
    let alone = bench.trained("alone", &["--leave-out", "Segfault"]);
    ran.expect(8).says(&[
        "SIGSEGV in libsegfault.so, Segfault at after_train_iter, iteration 3",
        "restarting from the checkpoint of iteration 2 (1 of 3)",
        "`Segfault` has crashed 2 times: restarting from the checkpoint of iteration 2 without it (2 of 3)",
    ]);
    for file in ["model", "optimizer"] {
        let last = format!("checkpoints/iter_0000004/{file}.safetensors");
        let [own, other] = [&run, &alone].map(|run| fs::read(run.path.join(&last)).unwrap());
        assert!(own == other, "{file} differs");
    }
    let record = run.record();
    assert_eq!(record["outcome"], "completed");
    assert_eq!(record["left_out"], serde_json::json!(["Segfault"]));
    let supervised = &record["supervised"];
    assert_eq!(
        (&supervised["restarts"], &supervised["crashes"][1]["iter"]),
        (&2.into(), &3.into())
    );
    let before = record["earlier"].as_array().unwrap();
    assert_eq!((before.len(), &before[1]["outcome"]), (2, &"crashed".into()), "{record}");
    let report = run.text("report.html");
    assert!(report.contains("Crashes") && report.contains("completed without Segfault"));
    assert!(run.path.join("crash.1.json").exists(), "the first report is kept");
}

/// 600 iterations in one epoch, with a checkpoint every 100.
const LONG: [&str; 3] =
    ["data.train.samples=2400", "train.max_epochs=1", "default_hooks.checkpoint.period=100"];

#[test]
fn a_run_whose_plugin_crashes_at_iteration_500_ends_with_the_weights_of_the_run_without_it() {
    let saved = SAVED.replace("latest", "iter_0000400");
    let waits = waiting().replace("iter = 3", "iter = 500").replace(SAVED, &saved);
    let bench = bench_at(500, "segfault", &(DISABLE.to_owned() + &waits));
    let (ran, run) = bench.train("run", &[&["--supervise"], &LONG[..]].concat());
    ran.expect(8).says(&[
        "SIGSEGV in libsegfault.so, Segfault at after_train_iter, iteration 500",
        "`Segfault` has crashed 2 times: restarting from the checkpoint of iteration 400 without it (2 of 3)",
    ]);
    let alone = bench.trained("alone", &[&["--leave-out", "Segfault"], &LONG[..]].concat());
    for file in ["model", "optimizer"] {
        let last = format!("checkpoints/iter_0000600/{file}.safetensors");
        let [own, other] = [&run, &alone].map(|run| fs::read(run.path.join(&last)).unwrap());
        assert!(own == other, "{file} differs");
    }
    let record = run.record();
    assert_eq!((&record["outcome"], &record["iter"]), (&"completed".into(), &600.into()));
}

#[test]
fn a_run_that_keeps_crashing_without_progress_is_not_restarted() {
    let bench = bench("segfault", &waiting());
    let (ran, run) = bench.train("run", &["--supervise", "9"]);
    ran.expect(128 + 11).says(&[
        "restarting from the checkpoint of iteration 2 (1 of 9)",
        "no progress since the last crash: not restarted; to continue without `Segfault`, set its on_error",
    ]);
    let record = run.record();
    assert_eq!(record["outcome"], "crashed");
    assert!(record["why"].as_str().unwrap().starts_with("SIGSEGV in libsegfault.so"), "{record}");
}

#[test]
fn exit_called_by_a_plugin_is_a_crash_and_a_clean_failure_is_not() {
    let exit = bench("exit", DISABLE);
    let (ran, _) = exit.train("run", &["--supervise"]);
    ran.expect(8).says(&["exit() in libexit.so, Exit at after_train_iter, iteration 3"]);
    let failing = bench("undeclared_step", "");
    let (ran, _) = failing.train("run", &["--supervise"]);
    ran.expect(4);
    assert!(!ran.stderr.contains("restarting"), "{}", ran.stderr);
}

#[test]
fn exit_code_0_of_a_run_that_is_not_complete_is_a_crash() {
    let bench = bench("underscore_exit", &(DISABLE.to_owned() + &waiting()));
    let (ran, run) = bench.train("run", &["--supervise"]);
    ran.expect(4).says(&[
        "the process ended with exit code 0 before the run was complete, without an error; a plugin may have called _exit()",
        "restarting from the checkpoint of iteration 2 (1 of 3)",
        "no progress since the last crash: not restarted",
    ]);
    assert_eq!(run.record()["outcome"], "crashed");
    let complete = bench.trained("alone", &["--leave-out", "UnderscoreExit"]);
    assert_eq!(complete.record()["outcome"], "completed");
    // There is nothing to do for a run that is complete, and that is no crash.
    let again = bench.train("alone", &["--leave-out", "UnderscoreExit", "--resume", "--supervise"]);
    again.0.expect(0);
}

#[test]
fn a_run_without_a_crash_is_the_same_as_without_a_supervisor() {
    let bench = crate::workbench::Bench::new("");
    let run = bench.trained("run", &["--supervise"]);
    assert_eq!(run.record()["outcome"], "completed");
    assert!(run.record().get("supervised").is_none());
}

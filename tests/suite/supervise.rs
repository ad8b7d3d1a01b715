//! `hookrack train --supervise`: a run that a plugin crashes is restarted, if necessary without that plugin.

use crate::misbehaviour::bench;
use crate::workbench::SAVED;
use std::fs;

/// The policy of a hook that the run can continue without.
const DISABLE: &str = "on_error = \"disable\"\n";

/// A hook that runs before all others and waits in iteration 3 until the checkpoint of iteration 2 is complete.
fn waiting() -> String {
    format!(
        "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"waits\"\nfile = \"own\"\nat = \"after_train_iter\"\niter = 3\n\
         how = \"shell\"\ncommand = \"{SAVED}\"\nlevel = 1\n"
    )
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
fn a_run_without_a_crash_is_the_same_as_without_a_supervisor() {
    let bench = crate::workbench::Bench::new("");
    let run = bench.trained("run", &["--supervise"]);
    assert_eq!(run.record()["outcome"], "completed");
    assert!(run.record().get("supervised").is_none());
}

//! Hooks on several ranks: failures, hooks of the main rank, hooks in C.

use crate::ranks::{alone, launched};
use crate::workbench::{self, Bench};
use crate::workshop::compile_c;

fn faulty(at: &str, how: &str, more: &str) -> String {
    workbench::faulty("bad", at, &format!("iter = 2\nhow = '{how}'\n{more}"))
}

/// The log of a rank.
fn log(bench: &Bench, rank: usize) -> String {
    match rank {
        0 => bench.read("run/log.txt"),
        _ => bench.read(&format!("run/ranks/rank_{rank}.log")),
    }
}

/// A hook that fails on one rank while the others wait in a collective of it.
#[test]
fn a_hook_that_fails_on_one_rank_fails_on_all_without_a_timeout() {
    for (at, policy, failures) in [
        ("after_train_iter", "disable", 1),
        // Iterations 2 to 6.
        ("after_train_iter", "warn", 5),
        ("after_eval", "disable", 1),
    ] {
        let more = format!("fails_on = 1\non_error = \"{policy}\"\n");
        let bench = Bench::new(&faulty(at, "collective", &more));
        launched(&bench, 2, "run", &[]).expect(0);
        let record = bench.folder("run").record();
        assert_eq!((&record["outcome"], &record["iter"]), (&"completed".into(), &6.into()));
        for (rank, wanted) in
            [(0, "it has failed on rank 1: it failed on purpose"), (1, "it failed on purpose")]
        {
            let log = log(&bench, rank);
            let found = log.lines().filter(|line| line.contains(wanted)).count();
            assert_eq!(found, failures, "{at} {policy}, rank {rank}: {log}");
        }
    }
}

#[test]
fn a_hook_that_is_disabled_on_one_rank_is_disabled_on_all() {
    let more = "rank = 1\non_error = \"disable\"\n";
    let bench = Bench::new(&faulty("after_train_iter", "error", more));
    launched(&bench, 2, "run", &[]).expect(0);
    assert!(log(&bench, 0).contains("hook `bad` has failed on rank 1: it is disabled here too"));
    // Both were called in iterations 1 and 2, and never again.
    assert_eq!(bench.read("own").matches("after_train_iter").count(), 4, "{}", bench.read("own"));
}

#[test]
fn a_metric_that_fails_on_one_rank_fails_on_all() {
    for (phase, panics, policy, code) in [
        ("train", false, "disable", 0),
        ("val", false, "warn", 0),
        ("val", true, "warn", 0),
        ("train", true, "abort", 4),
    ] {
        let bench = Bench::new(&format!(
            "[[metrics]]\ntype = \"FaultyMetric\"\nphase = \"{phase}\"\npanics = {panics}\nrank = 1\non_error = \"{policy}\"\n"
        ));
        launched(&bench, 2, "run", &[]).expect(code);
        let log = log(&bench, 0);
        let named = |line: &str| line.contains("on rank 1: ") && line.contains("on purpose");
        assert!(log.lines().any(named), "{phase} {policy}: {log}");
    }
}

#[test]
fn requests_and_failures_of_a_hook_on_the_main_rank_apply_to_all_ranks() {
    for (how, code, outcome) in
        [("stop", 0, "stopped"), ("error", 4, "failed"), ("sigterm", 143, "interrupted")]
    {
        let bench = Bench::new(&faulty(
            "after_train_iter",
            how,
            "ranks = \"main\"\non_error = \"abort\"\n",
        ));
        launched(&bench, 2, "run", &[]).expect(code);
        let record = bench.folder("run").record();
        assert_eq!((&record["outcome"], &record["iter"]), (&outcome.into(), &2.into()), "{how}");
    }
}

#[test]
fn hooks_in_c_have_collectives_and_choose_their_ranks() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"RankSumC\"\n[[custom_hooks]]\ntype = \"MainOnlyC\"\n",
    );
    compile_c("../plugins/ranks_c", &bench.path("plugins/libranks_c.so"), &["-shared", "-lm"]);
    launched(&bench, 2, "run", &[]).expect(0);
    let sums = bench.folder("run").series("train/rank_sum");
    assert_eq!(sums, [3.0; 6]);
    let said = |rank| log(&bench, rank).matches("the main rank alone says this").count();
    assert_eq!([said(0), said(1)], [1, 0]);
    let one = alone(&bench, 1, "one", &[]);
    assert_eq!(one.series("train/rank_sum"), [1.0; 6]);
}

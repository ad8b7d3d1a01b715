//! Several ranks train one run: the same samples, the same numbers, and an end that all agree on.

use crate::patience::{until, wait};
use crate::workbench::{self, Bench, Ran, RunFolder, hook, wide_tensors};
use std::fs::File;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Instant;

/// A config whose run several ranks can share: 16 samples an epoch in batches of 8, and plain SGD.
const SHARED: &[&str] = &[
    "data.train.samples=18",
    "data.val.samples=13",
    "train.batch_size=8",
    "train.max_epochs=3",
    "optimizer={_delete_=true,type=\"SGD\",lr=0.1}",
    "default_hooks.logger.interval=1",
    "data.train.drop_last=true",
];

/// Trains on this many ranks.
pub(crate) fn launched(bench: &Bench, ranks: usize, run: &str, more: &[&str]) -> Ran {
    let ranks = ranks.to_string();
    let all =
        [&["launch", "-n", &ranks, "--", "train", "config.toml", "--run-dir", run], SHARED, more];
    bench.run(all.concat())
}

/// Trains in one process, with micro-batches.
pub(crate) fn alone(bench: &Bench, parts: usize, run: &str, more: &[&str]) -> RunFolder {
    let parts = format!("train.accumulation={parts}");
    bench.trained(run, &[&[parts.as_str()], SHARED, more].concat())
}

pub(crate) const LAST: &str = "checkpoints/iter_0000006/model.safetensors";

pub(crate) fn furthest(run: &RunFolder, other: &RunFolder, file: &str) -> f64 {
    let [left, right] = [run, other].map(|run| wide_tensors(&run.path.join(file)));
    assert!(!left.is_empty() && left.len() == right.len(), "{file}");
    let far = |name: &String| {
        let ((kind, left), (other, right)) = (&left[name], &right[name]);
        assert_eq!((kind, left.len()), (other, right.len()), "{name}");
        left.iter().zip(right).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    left.keys().map(far).fold(0.0, f64::max)
}

#[test]
fn two_ranks_train_bit_for_bit_what_one_process_trains_in_two_micro_batches() {
    let bench = Bench::new("");
    let one = alone(&bench, 2, "one", &[]);
    launched(&bench, 2, "two", &[]).expect(0);
    let two = bench.folder("two");
    assert_eq!(one.tensors(LAST), two.tensors(LAST));
    for name in ["train/loss", "val/Accuracy"] {
        assert_eq!(one.series(name), two.series(name), "{name}");
    }
    let samples = |run: &RunFolder| -> Vec<_> {
        run.scalars().iter().map(|line| line["samples"].clone()).collect()
    };
    assert_eq!(samples(&one), samples(&two));
    assert_eq!(two.record()["outcome"], "completed");
}

#[test]
fn four_ranks_differ_from_one_process_by_the_order_of_summation_alone() {
    let bench = Bench::new("");
    let one = alone(&bench, 4, "one", &[]);
    launched(&bench, 4, "four", &[]).expect(0);
    let four = bench.folder("four");
    // Six steps, each with gradients that are sums of four numbers below 1: a few units in the last place of a float.
    assert!(furthest(&one, &four, LAST) < 1e-5);
    assert_eq!(one.series("val/Accuracy"), four.series("val/Accuracy"));
}

#[test]
fn metrics_of_training_are_merged_in_every_iteration() {
    let bench = Bench::new("[[metrics]]\ntype = \"F1\"\nphase = [\"train\", \"val\"]\n");
    let one = alone(&bench, 2, "one", &[]);
    launched(&bench, 2, "two", &[]).expect(0);
    let two = bench.folder("two");
    for name in ["train/F1", "val/F1"] {
        let (one, two) = (one.series(name), two.series(name));
        assert!(!one.is_empty(), "{name}");
        assert_eq!(one, two, "{name}");
    }
}

#[test]
fn a_run_moves_to_another_number_of_ranks_at_a_checkpoint() {
    let bench = Bench::new("");
    let one = alone(&bench, 4, "one", &[]);
    alone(&bench, 4, "moved", &["--until", "1"]);
    launched(&bench, 2, "moved", &["--resume", "--until", "2", "train.accumulation=2"]).expect(0);
    launched(&bench, 4, "moved", &["--resume", "--until", "4", "train.accumulation=1"]).expect(0);
    let moved = alone(&bench, 4, "moved", &["--resume"]);
    assert!(furthest(&one, &moved, LAST) < 1e-5);
    assert_eq!(one.series("val/Accuracy"), moved.series("val/Accuracy"));
    assert_eq!(moved.record()["iter"], 6);
}

fn faulty(at: &str, how: &str) -> String {
    let iter = if ["on_attach", "before_run", "before_train"].contains(&at) { 0 } else { 2 };
    let settings = format!("iter = {iter}\non_error = 'abort'\nhow = '{how}'\nrank = 1");
    workbench::faulty("bad", at, &settings)
}

/// One of two ranks, started without a launcher.
fn rank(bench: &Bench, rank: usize, port: u16, timeout: &str, more: &[&str]) -> Child {
    let all = [&["train", "config.toml", "--run-dir", "run"], SHARED, more].concat();
    let mut command = bench.command(&all);
    let (rank, port) = (rank.to_string(), port.to_string());
    command.envs([("RANK", rank.as_str()), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1")]);
    command.envs([
        ("MASTER_PORT", port.as_str()),
        ("LOCAL_WORLD_SIZE", "2"),
        ("LOCAL_RANK", &rank),
    ]);
    command.env("HOOKRACK_TIMEOUT", timeout);
    command.stderr(File::create(bench.path(&format!("said_{rank}"))).unwrap());
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The exit codes of both ranks and the output of rank 0.
fn ends(bench: &Bench, ranks: [Child; 2]) -> ([Option<i32>; 2], String) {
    let codes = ranks.map(|mut rank| wait(&mut rank).code());
    (codes, bench.read("said_0"))
}

/// Both ranks, started without a launcher.
fn both(bench: &Bench, timeout: &str, more_of_rank_1: &[&str]) -> [Child; 2] {
    let port = free_port();
    [rank(bench, 0, port, timeout, &[]), rank(bench, 1, port, timeout, more_of_rank_1)]
}

/// Both ranks of `run`, started without a launcher and with the same options.
pub(crate) fn two_ranks(bench: &Bench, timeout: &str, more: &[&str]) -> [Child; 2] {
    let port = free_port();
    [0, 1].map(|number| rank(bench, number, port, timeout, more))
}

#[test]
fn what_a_hook_on_one_rank_does_is_agreed_on_by_all() {
    for (at, how, codes, outcome, iter, saved) in [
        ("after_train_iter", "error", [7, 4], "failed", 2, None),
        ("after_train_iter", "panic", [7, 4], "failed", 2, None),
        ("before_train_iter", "error", [7, 4], "failed", 2, None),
        ("after_val_iter", "error", [7, 4], "failed", 2, None),
        ("on_attach", "error", [7, 4], "failed", 0, None),
        ("before_run", "panic", [7, 4], "failed", 0, None),
        ("before_train", "error", [7, 4], "failed", 0, None),
        ("before_save_checkpoint", "error", [7, 4], "failed", 2, None),
        ("after_cycle", "error", [7, 4], "failed", 2, None),
        // The last points: nothing of the loop follows, and the ranks still agree.
        ("after_train", "error", [7, 4], "failed", 6, Some(6)),
        ("after_run", "panic", [7, 4], "failed", 6, Some(6)),
        ("on_detach", "error", [7, 4], "failed", 6, Some(6)),
        ("after_train_iter", "stop", [0, 0], "stopped", 2, Some(2)),
        ("after_train_iter", "sigterm", [143, 143], "interrupted", 2, Some(2)),
        // In the middle of an epoch: nothing else saves there.
        ("after_train_iter", "save", [0, 0], "completed", 6, Some(3)),
        ("after_train_iter", "validate", [0, 0], "completed", 6, Some(6)),
    ] {
        let bench = Bench::new(&faulty(at, how));
        let (ended, said) = ends(&bench, both(&bench, "60", &[]));
        assert_eq!(ended, codes.map(Some), "{at} {how}: {said} / {}", bench.read("said_1"));
        let record = bench.folder("run").record();
        assert_eq!(
            (&record["outcome"], &record["iter"]),
            (&outcome.into(), &iter.into()),
            "{at} {how}"
        );
        if outcome == "failed" {
            assert!(said.contains("rank 1 ("), "{at} {how}: {said}");
            assert!(said.contains("on purpose"), "{at} {how}: {said}");
        }
        if let Some(saved) = saved {
            let model = format!("run/checkpoints/iter_{saved:07}/model.safetensors");
            assert!(bench.path(&model).exists(), "{at} {how}: no {model}");
        }
        // In every iteration from the second on, instead of one in two.
        let validations = bench.folder("run").series("val/Accuracy").len();
        assert!(outcome != "completed" || validations == if how == "validate" { 5 } else { 3 });
        // Also of a run that failed.
        let costs = &record["ranks"]["hook_costs"]["MainHook"];
        assert!(costs["min_s"].is_number(), "{at} {how}: {}", record["ranks"]);
    }
}

#[test]
fn a_role_that_fails_on_one_rank_ends_the_run_on_all() {
    for panics in [false, true] {
        let bench = Bench::new(&format!(
            "[[custom_hooks]]\ntype = \"FaultyRole\"\npanics = {panics}\nrank = 1\n"
        ));
        let (ended, said) = ends(&bench, both(&bench, "60", &[]));
        assert_eq!(ended, [Some(7), Some(5)], "{said} / {}", bench.read("said_1"));
        for wanted in ["rank 1 (", "on_optimizer_step", "on purpose"] {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        let record = bench.folder("run").record();
        assert_eq!(record["outcome"], "failed");
    }
}

#[test]
fn a_rank_that_dies_is_named_with_where_it_was() {
    let bench = Bench::new(&faulty("before_train_iter", "sigkill"));
    let ([code, _], said) = ends(&bench, both(&bench, "60", &[]));
    assert_eq!(code, Some(7), "{said}");
    for wanted in ["rank 1 (", "stopped responding", "iteration", "this rank waited in iteration 2"]
    {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let record = bench.folder("run").record();
    assert_eq!(record["outcome"], "failed");
    let flight = bench.json("run/ranks/rank_0.flight.json");
    assert!(flight["entries"].as_array().is_some_and(|it| !it.is_empty()), "{flight}");
}

#[test]
fn a_rank_that_hangs_is_named_within_the_timeout() {
    let hangs = "command = \"touch hung; exec sleep 60\"\n";
    let bench = Bench::new(&(faulty("before_train_iter", "shell") + hangs));
    // Long enough to start on a busy machine.
    let [mut first, mut second] = both(&bench, "20", &[]);
    until("the second rank hangs", || bench.path("hung").exists());
    let hung = Instant::now();
    until("it is named", || bench.read("said_0").contains("rank 1 ("));
    assert!(hung.elapsed().as_secs() < 20, "named after {:?}", hung.elapsed());
    let code = wait(&mut first).code();
    second.kill().unwrap();
    wait(&mut second);
    let said = bench.read("said_0");
    assert_eq!(code, Some(7), "{said}");
    for wanted in ["rank 1", "iteration 2, before_train_iter, hook `bad`"] {
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn a_rank_that_does_not_start_is_named() {
    let bench = Bench::new("");
    let code = wait(&mut rank(&bench, 0, free_port(), "1", &[])).code();
    let said = bench.read("said_0");
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("rank 0 waited 1 s for rank 1 of 2, which did not start"), "{said}");
    assert!(!bench.path("run").exists(), "nothing was written");
}

#[test]
fn a_rank_with_another_config_is_named_before_anything_is_written() {
    let bench = Bench::new("");
    let (codes, said) = ends(&bench, both(&bench, "60", &["train.seed=7"]));
    assert_eq!(codes, [Some(2); 2], "{said}");
    assert!(said.contains("rank 1 differs from rank 0 in train.seed"), "{said}");
    assert!(!bench.path("run").exists(), "nothing was written");
}

#[test]
fn every_rank_has_a_log_and_rank_0_has_the_files() {
    let bench = Bench::new("");
    launched(&bench, 2, "run", &[]).expect(0);
    until("the log is there", || bench.path("run/ranks/rank_1.log").exists());
    let names: Vec<_> = ["run.json", "metrics.json", "log.txt", "report.html"]
        .into_iter()
        .filter(|name| bench.path("run").join(name).exists())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let ranks = &bench.folder("run").record()["ranks"];
    assert_eq!(ranks["world"], 2);
    let cost = &ranks["hook_costs"]["MainHook"];
    let [min, mean, max] = ["min_s", "mean_s", "max_s"].map(|key| cost[key].as_f64().unwrap());
    assert!(0.0 < min && min <= mean && mean <= max, "{cost}");
}

/// A hook that sums over ranks at a point.
fn collective(at: &str, more: &str) -> String {
    faulty(at, "collective").replace("rank = 1\n", more)
}

#[test]
fn a_hook_sums_gathers_and_copies_over_all_ranks() {
    let bench = Bench::new(&collective("after_train_iter", ""));
    launched(&bench, 2, "two", &[]).expect(0);
    let sums = |run| bench.folder(run).series("train/sum_of_ranks");
    assert_eq!(sums("two"), [3.0; 5]);
    alone(&bench, 1, "one", &[]);
    assert_eq!(sums("one"), [1.0; 5]);
}

#[test]
fn a_collective_where_another_rank_may_never_arrive_is_refused_not_waited_for() {
    for (at, more, wanted) in [
        (
            "after_train_iter",
            "ranks = \"main\"\n",
            "a collective is not allowed in a hook that does not run on all ranks",
        ),
        (
            "after_val_iter",
            "",
            "a collective is not allowed at after_val_iter, because ranks may have different numbers of batches",
        ),
    ] {
        let bench = Bench::new(&collective(at, more));
        launched(&bench, 2, "run", &[]).expect(4).says(&[wanted]);
    }
}

#[test]
fn a_collective_at_a_point_of_every_phase_is_for_training_alone() {
    let bench = Bench::new(&hook("SumsAfterIters", ""));
    launched(&bench, 2, "all", &[]).expect(4).says(&[
        "a collective is not allowed at after_iter, because ranks may have different numbers of batches",
    ]);
    launched(&bench, 2, "train", &["custom_hooks.0.phase=train"]).expect(0);
}

#[test]
fn how_gradients_are_sent_does_not_change_what_is_trained() {
    let bench = Bench::new("");
    launched(&bench, 2, "plain", &[]).expect(0);
    let small = ["distributed.bucket_mb=0.001", "distributed.find_unused_parameters=true"];
    launched(&bench, 2, "small", &small).expect(0);
    let [plain, small] = ["plain", "small"].map(|run| bench.folder(run));
    assert_eq!(plain.tensors(LAST), small.tensors(LAST));
    // Two numbers below 1 and their sum, rounded to half precision, are off by 2^-10 at most; six steps at a rate of 0.1.
    launched(&bench, 2, "half", &["distributed.fp16_compression=true"]).expect(0);
    let far = furthest(&plain, &bench.folder("half"), LAST);
    assert!(far > 0.0 && far < 6.0 * 0.1 / 1024.0, "{far}");
}

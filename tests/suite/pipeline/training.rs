//! Stages train what one process trains: every model, every schedule, and copies of a pipeline.

#![expect(clippy::print_stdout, reason = "the long form reports the differences")]

use super::{
    SGD, WIDE, alone, assert_same, bench, cases, is_long, launched, saved, schedule, steps,
};
use crate::sharding::{Bits, files};
use crate::workbench::{Bench, RunFolder};

const CHUNKS: &[&str] = &["schedule.chunks=2"];

#[test]
fn stages_train_bit_for_bit_what_one_process_trains_in_as_many_micro_batches() {
    for case in cases() {
        let bench = bench(&case, "");
        let one = alone(&bench, "one", &[]);
        // The long form runs every schedule with every model, the short one those that differ most.
        let all: [(&str, usize, &[&str], bool); 6] = [
            ("OneFOneB", 2, &[], true),
            ("Interleaved1F1B", 2, CHUNKS, true),
            ("GPipe", 4, &[], case.name == "gpt"),
            ("Interleaved1F1B", 4, CHUNKS, case.name == "mlp"),
            ("GPipe", 2, &[], false),
            ("OneFOneB", 4, &[], false),
        ];
        for (name, stages, set, is_short) in all {
            if is_short || is_long() {
                let run = format!("{name}_{stages}");
                launched(&bench, stages, &run, &schedule(name, stages, set)).expect(0);
                let run = bench.folder(&run);
                assert_same(&one, &run, &format!("{} with {name} on {stages} stages", case.name));
            }
        }
    }
}

#[test]
fn a_last_batch_of_fewer_rows_is_trained_in_as_many_micro_batches_as_it_has_rows() {
    // Batches of 32 and of 2 rows: in every second iteration there are fewer micro-batches than stages.
    let short = ["data.train.drop_last=false", "data.train.first=34"];
    for (case, name, stages, more) in
        [(0, "OneFOneB", 2, &[][..]), (3, "Interleaved1F1B", 4, CHUNKS)]
    {
        let bench = bench(&cases()[case], "");
        let one = alone(&bench, "one", &short);
        launched(&bench, stages, "run", &schedule(name, stages, &[&short, more].concat()))
            .expect(0);
        assert_same(&one, &bench.folder("run"), name);
        assert_eq!(one.record()["epoch"], steps().div_ceil(2), "two iterations are an epoch");
    }
}

#[test]
fn layers_that_are_divided_by_measured_times_train_the_same() {
    let bench = bench(&cases()[3], "");
    let one = alone(&bench, "one", &[]);
    launched(&bench, 2, "run", &schedule("OneFOneB", 2, &["schedule.split=time"])).expect(0);
    assert_same(&one, &bench.folder("run"), "split by time");
}

/// The largest difference of a parameter. Running statistics of batch norms are those of the first copy.
fn furthest(one: &Bits, other: &Bits) -> f64 {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let params = one.keys().filter(|name| !name.contains("running_"));
    let far = |name: &String| {
        let number = |bits: &u64| f64::from_bits(*bits);
        let pairs = one[name].iter().zip(&other[name]);
        pairs.map(|(a, b)| (number(a) - number(b)).abs()).fold(0.0, f64::max)
    };
    params.map(far).fold(0.0, f64::max)
}

/// Trains two copies of two stages, two stages, and one process, on the same micro-batches of 8 rows, by the optimizer of the config or
/// another.
fn assert_copies_are_close(bench: &Bench, name: &str, optimizer: &[&str]) {
    let layout = |micros: &str| schedule("OneFOneB", 2, &[&[WIDE, micros], optimizer].concat());
    launched(bench, 4, "copies", &layout("schedule.microbatches=2")).expect(0);
    launched(bench, 2, "stages", &layout("schedule.microbatches=4")).expect(0);
    alone(bench, "one", &[&[WIDE], optimizer].concat());
    let folder = |run: &str| bench.folder(run);
    let [copies, model] = [folder("copies"), folder("one")];
    for other in ["stages", "one"] {
        let other = folder(other);
        // Copies sum the same numbers in another order.
        let far = furthest(&saved(&copies)[0], &saved(&other)[0]);
        println!("{name}, two copies of a pipeline: weights differ by {far:e} at most");
        assert!(far < 1e-5, "{name}: {far:e}");
    }
    let (losses, others) = (model.series("train/loss"), copies.series("train/loss"));
    let far = losses.iter().zip(&others).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(losses.len() as u64 == steps() && losses.len() == others.len(), "{losses:?}");
    println!("{name}, two copies of a pipeline: losses differ by {far:e} at most");
    assert!(far < 1e-5, "{name}: {far:e}");
}

#[test]
fn copies_of_a_pipeline_differ_from_one_process_by_rounding_alone() {
    for case in cases().iter().filter(|case| is_long() || case.name == "gpt") {
        for (optimizer, set) in [("AdamW", &[][..]), ("SGD", &[SGD])] {
            assert_copies_are_close(&bench(case, ""), &format!("{}, {optimizer}", case.name), set);
        }
    }
}

#[test]
fn a_sharded_optimizer_changes_no_bit_of_copies_of_a_pipeline() {
    let bench = bench(&cases()[3], "[parallel]\npipeline = 2\ndata = 2\n");
    launched(&bench, 4, "plain", &schedule("OneFOneB", 2, &[])).expect(0);
    launched(&bench, 4, "sharded", &schedule("OneFOneB", 2, &["optimizer.shard=true"])).expect(0);
    let [plain, sharded] = ["plain", "sharded"].map(|run| bench.folder(run));
    assert_same(&plain, &sharded, "sharded");
    let optimizers = |run: &RunFolder| {
        let last = run.checkpoints().pop().unwrap();
        files(&run.path.join("checkpoints").join(last), "optimizer").len()
    };
    assert_eq!([&plain, &sharded].map(optimizers), [2, 4], "every rank writes its share");
}

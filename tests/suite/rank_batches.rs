//! Batches that do not divide evenly, batches that accumulate and labels that do not count are weighed on several ranks as in one process.

use crate::ranks::{LAST, alone, furthest, launched};
use crate::workbench::{Bench, RunFolder};

/// Settings that change how much a row counts, in numbers that floats have exactly.
const WEIGHED: [(&str, &[&str]); 4] = [
    ("plain", &[]),
    // With shares of one or two rows, none may count on a rank.
    ("ignored", &["loss.ignore_index=2"]),
    ("weighed", &["loss.ignore_index=1", "loss.class_weights=[0.5, 1.0, 4.0]"]),
    // Both terms weigh a label of class 1 alike, and no other: the ranks must not decide by their own labels.
    (
        "sum",
        &[
            "loss={_delete_=true,type=\"Sum\",losses=[{type=\"CrossEntropy\"},{type=\"CrossEntropy\",class_weights=[0.5, 1.0, 4.0]}]}",
        ],
    ),
];

/// Trains in one process and on ranks; returns both.
fn both(bench: &Bench, ranks: usize, name: &str, more: &[&str]) -> [RunFolder; 2] {
    let (one, several) = (format!("one_{name}"), format!("ranks_{name}"));
    let one = alone(bench, ranks, &one, more);
    launched(bench, ranks, &several, more).expect(0);
    [one, bench.folder(&several)]
}

const UNEVEN: &[&str] = &["data.train.drop_last=false"];

#[test]
fn uneven_last_batches_are_weighed_bit_for_bit_as_in_one_process() {
    let bench = Bench::new("");
    // A batch of 4 and one of 3: two rows and one.
    let uneven = [UNEVEN, &["data.train.samples=7", "train.batch_size=4"]].concat();
    for (name, more) in WEIGHED {
        let [one, two] = both(&bench, 2, name, &[&uneven, more].concat());
        assert_eq!(one.tensors(LAST), two.tensors(LAST), "{name}");
        for scalar in ["train/loss", "train/loss_epoch", "val/loss", "val/Accuracy"] {
            let [one, two] = [&one, &two].map(|run| run.series(scalar));
            assert!(
                !one.is_empty() && one.iter().all(|value| value.is_finite()),
                "{name}: {one:?}"
            );
            assert_eq!(one, two, "{name}: {scalar}");
        }
    }
}

#[test]
fn uneven_last_batches_on_four_ranks_differ_by_the_order_of_summation_alone() {
    let bench = Bench::new("");
    // A batch of 8 and one of 6: two, two, one and one row.
    let uneven = [UNEVEN, &["data.train.samples=14"]].concat();
    for (name, more) in WEIGHED {
        let [one, four] = both(&bench, 4, name, &[&uneven, more].concat());
        // Six steps at a rate of 0.1, with gradients that are sums of four numbers of about 1.
        let far = furthest(&one, &four, LAST);
        assert!(far < 1e-5, "{name}: {far}");
        assert_eq!(one.series("val/Accuracy"), four.series("val/Accuracy"), "{name}");
    }
}

/// The weights of all labels are summed over the ranks, whoever has changed some.
#[test]
fn a_hook_may_change_the_labels_of_one_rank_alone() {
    let hook = "[[custom_hooks]]\ntype = \"BatchChanger\"\nranks = \"main\"\n";
    let bench = Bench::new(hook);
    for (name, more) in WEIGHED {
        launched(&bench, 2, name, more).expect(0);
        let losses = bench.folder(name).series("train/loss");
        assert_eq!(losses.len(), 6, "{name}");
        assert!(losses.iter().all(|loss| loss.is_finite()), "{name}: {losses:?}");
    }
}

/// Four batches of 8, 8, 8 and 6 rows are two iterations.
#[test]
fn batches_that_accumulate_make_the_same_step_on_any_number_of_ranks() {
    let bench = Bench::new("");
    let grouped = ["data.train.samples=30", "train.accumulate_grad_batches=2"];
    let grouped = [UNEVEN, &grouped].concat();
    for (name, more) in WEIGHED {
        for ranks in [2, 4] {
            let name = format!("{name}_{ranks}");
            let [one, several] = both(&bench, ranks, &name, &[&grouped, more].concat());
            // A rank adds up its parts of both batches first: sums of up to eight numbers in another order, in six steps.
            let far = furthest(&one, &several, LAST);
            assert!(far < 1e-5, "{name}: {far}");
            let [left, right] = [&one, &several].map(|run| run.series("train/loss"));
            assert_eq!(left.len(), 6, "{name}: two iterations an epoch");
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
            assert!(left.iter().zip(&right).all(is_near), "{name}: {left:?} {right:?}");
            let [left, right] = [&one, &several].map(|run| run.series("samples"));
            assert_eq!(left, right, "{name}");
        }
    }
}

#[test]
fn the_cores_of_a_machine_are_divided_among_its_ranks_and_their_number_is_recorded() {
    let bench = Bench::new("");
    bench.replace("threads = 1\n", "");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = |run: &RunFolder| {
        run.json("checkpoints/iter_0000006/state.json")["provenance"]["threads"].clone()
    };
    for ranks in [2, 4] {
        let name = ranks.to_string();
        launched(&bench, ranks, &name, &[]).expect(0);
        assert_eq!(threads(&bench.folder(&name)), (cores / ranks).max(1), "{ranks} ranks");
    }
    launched(&bench, 2, "chosen", &["train.threads=3"]).expect(0);
    assert_eq!(threads(&bench.folder("chosen")), 3);
}

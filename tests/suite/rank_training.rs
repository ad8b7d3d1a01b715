//! Training on several ranks equals that of one process: batch norms, frozen parameters, loss scaling, plugins.

use crate::ranks::{LAST, alone, furthest, launched};
use crate::workbench::{Bench, RunFolder, hook};

/// A hook that fails where ranks differ.
const COMPARED: &str = "[[custom_hooks]]\ntype = \"SameOnAllRanks\"\n";

const NORMED: &[&str] = &[
    "model={_delete_=true,type=\"Sequential\",layers=[{type=\"linear\",outputs=8},{type=\"norm\"},\
     {type=\"activation\"},{type=\"norm\"},{type=\"linear\"}]}",
];

#[test]
fn batch_norms_over_all_ranks_are_those_of_one_process() {
    let bench = Bench::new(COMPARED);
    let synced = [NORMED, &["distributed.sync_batch_norm=true"]].concat();
    let one = alone(&bench, 1, "one", &synced);
    launched(&bench, 2, "two", &synced).expect(0);
    launched(&bench, 4, "four", &synced).expect(0);
    for name in ["two", "four"] {
        let run = bench.folder(name);
        // Six steps at a rate of 0.1 of numbers of about 1, in sums of 8: a few units in the last place of a float each.
        let far = furthest(&one, &run, LAST);
        assert!(far < 1e-5, "{name}: {far}");
        assert_eq!(one.series("val/Accuracy"), run.series("val/Accuracy"), "{name}");
    }
    // Also with micro-batches, which consist of the rows of all ranks.
    // Of 16 rows: a norm over few of them may divide by a deviation near 0, which magnifies rounding.
    let larger = ["data.train.samples=66", "train.batch_size=32"];
    let synced = [&synced[..], &larger].concat();
    let one = alone(&bench, 2, "one_in_two", &synced);
    let more = [&synced[..], &["train.accumulation=2"]].concat();
    launched(&bench, 2, "two_in_two", &more).expect(0);
    let far = furthest(&one, &bench.folder("two_in_two"), LAST);
    assert!(far < 1e-5, "two_in_two: {far}");
}

#[test]
fn batch_norms_of_each_rank_by_itself_are_others() {
    let bench = Bench::new("");
    let one = alone(&bench, 1, "one", NORMED);
    launched(&bench, 2, "two", NORMED).expect(0);
    assert!(furthest(&one, &bench.folder("two"), LAST) > 1e-3);
}

#[test]
fn a_pass_whose_norms_wait_for_all_ranks_is_refused_to_a_hook_on_one() {
    let bench = Bench::new(&hook("RunsModel", ""));
    let synced = [NORMED, &["distributed.sync_batch_norm=true"]].concat();
    launched(&bench, 2, "all", &synced).expect(0);
    let main = [&synced[..], &["custom_hooks.0.ranks=main"]].concat();
    launched(&bench, 2, "main", &main).expect(4).says(&[
        "a forward pass with distributed.sync_batch_norm is not allowed in a hook that does not run on all ranks",
    ]);
}

#[test]
fn a_metric_reports_at_the_end_of_a_pass_and_not_after_its_iterations() {
    let bench = Bench::new("[[metrics]]\ntype = \"Reporter\"\nphase = [\"train\", \"val\"]\n");
    let one = alone(&bench, 2, "one", &[]);
    launched(&bench, 2, "two", &[]).expect(0);
    for run in [one, bench.folder("two")] {
        let log = run.text("log.txt");
        let reports = |phase: &str| log.matches(&format!("{phase} reports ")).count();
        assert_eq!([reports("train"), reports("val")], [3, 3], "{log}");
    }
}

#[test]
fn a_parameter_that_the_loss_does_not_depend_on_is_named_or_found() {
    let bench = Bench::new(&hook("OneParam", ""));
    launched(&bench, 2, "refused", &[])
        .expect(5)
        .says(&["`layers.0.bias`", "find_unused_parameters"]);
    let found = ["distributed.find_unused_parameters=true"];
    launched(&bench, 2, "found", &found).expect(0);
    let one = alone(&bench, 2, "one", &[]);
    assert_eq!(one.tensors(LAST), bench.folder("found").tensors(LAST));
}

#[test]
fn parameters_that_a_hook_freezes_and_unfreezes_are_frozen_on_all_ranks() {
    let bench = Bench::new(&format!(
        "{COMPARED}[[custom_hooks]]\ntype = \"FreezeUnfreezeHook\"\nparams = [\"layers.0.*\"]\nfreeze_at_epoch = 2\n\
         unfreeze_at_epoch = 3\n"
    ));
    let one = alone(&bench, 2, "one", &[]);
    launched(&bench, 2, "two", &[]).expect(0);
    let two = bench.folder("two");
    for file in [LAST, "checkpoints/iter_0000002/model.safetensors"] {
        assert_eq!(one.tensors(file), two.tensors(file), "{file}");
    }
    let first = |file: &str| two.tensors(file)["layers.0.weight"].clone();
    let [second, fourth] =
        [2, 4].map(|iter| first(&format!("checkpoints/iter_{iter:07}/model.safetensors")));
    assert_eq!(second, fourth, "frozen in the second epoch");
    assert_ne!(fourth, first(LAST), "and trained again in the third");
}

#[test]
fn gradients_that_overflow_on_one_rank_are_skipped_by_all() {
    let bench = Bench::new(&format!(
        "{COMPARED}[[custom_hooks]]\ntype = \"HugeRows\"\nrank = 1\niter = 3\n"
    ));
    let half = ["train.precision=fp16", "train.clip_grad_norm=0.5"];
    launched(&bench, 2, "two", &half).expect(0);
    let run = bench.folder("two");
    assert_eq!(run.series("train/skipped_steps"), [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    let scales = run.series("train/loss_scale");
    assert_eq!(scales[1].to_bits(), (2.0 * scales[3]).to_bits(), "{scales:?}");
}

#[test]
fn gradients_sent_in_half_precision_are_the_same_on_all_ranks() {
    let bench = Bench::new(COMPARED);
    let half = ["distributed.fp16_compression=true", "train.clip_grad_norm=0.5"];
    launched(&bench, 4, "four", &half).expect(0);
}

/// The bundled plugins, with what each leaves in a run.
const PLUGINS: &str = r#"
[[custom_hooks]]
type = "EMAIterHook"
name = "ema"
momentum = 0.9
warmup = false
[[custom_hooks]]
type = "SWAHook"
name = "swa"
start = 0.5
[[custom_hooks]]
type = "GradNormC"
name = "grads"
[[custom_hooks]]
type = "AutogradProfilerHook"
name = "profiler"
wait = 1
active = 2
[[metrics]]
type = "TopK"
k = 2
phase = ["train", "val"]
"#;

#[test]
fn plugins_do_the_same_on_any_number_of_ranks() {
    let bench = Bench::new(PLUGINS);
    for ranks in [1, 2, 4] {
        let (one, several) = (format!("one_{ranks}"), format!("ranks_{ranks}"));
        let one = alone(&bench, ranks, &one, &[]);
        launched(&bench, ranks, &several, &[]).expect(0);
        let run = bench.folder(&several);
        // Of two numbers a sum is the same in either order; of four it is not.
        let bound = if ranks > 2 { 1e-5 } else { 0.0 };
        for file in ["ema.safetensors", "swa.safetensors", LAST] {
            let far = furthest(&one, &run, file);
            assert!(far <= bound, "{file} on {ranks} ranks: {far}");
        }
        for name in ["train/TopK", "val/TopK", "hook/grads/grad_norm", "train/loss"] {
            let (one, run) = (one.series(name), run.series(name));
            assert_eq!(one.len(), run.len(), "{name} on {ranks} ranks");
            assert!(!one.is_empty(), "{name}");
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= bound;
            assert!(one.iter().zip(&run).all(is_near), "{name} on {ranks} ranks: {one:?} {run:?}");
        }
        let traces =
            |run: &RunFolder| run.path.join("profile").read_dir().map_or(0, Iterator::count);
        assert_eq!((traces(&one), traces(&run)), (1, 1), "on {ranks} ranks");
    }
}

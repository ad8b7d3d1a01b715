//! 1, 2 and 4 ranks train as one process does with the same micro-batches, step by step. `cargo xtask parity` runs more steps, on
//! Fashion-MNIST and on a text.

#![expect(clippy::print_stdout, reason = "the long form reports the differences")]

use crate::ranks::furthest as furthest_weight;
use crate::workbench::{Bench, RunFolder};
use std::collections::BTreeMap;

/// How much losses, metrics and weights of about 1 may differ.
const BOUND: f64 = 1e-5;
/// How much metrics of a validation may differ in doubles.
const WIDE_BOUND: f64 = 1e-9;

/// What is trained, and how.
struct Case {
    name: &'static str,
    model: &'static str,
    data: String,
    /// Batch norms take the rows of all ranks: a micro-batch of one process is that of all of them.
    is_normed: bool,
    precision: &'static str,
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A split of images: embedded digits, or files where the environment names a folder.
fn images(split: &str) -> String {
    let normalize = "{ type = \"Normalize\", mean = [0.286], std = [0.353] }";
    match setting("HOOKRACK_PARITY_IMAGES") {
        Some(folder) if split == "train" => format!(
            "type = \"IdxImages\"\ndir = \"{folder}\"\nsplit = \"train\"\nfirst = 57000\n\
             transforms = [{{ type = \"RandomCrop\", padding = 2 }}, {{ type = \"RandomFlip\" }}, {normalize}]\n"
        ),
        Some(folder) => {
            format!(
                "type = \"IdxImages\"\ndir = \"{folder}\"\nsplit = \"train\"\nskip = 57000\ntransforms = [{normalize}]\n"
            )
        }
        None => format!("type = \"Digits\"\nsplit = \"{split}\"\n"),
    }
}

/// A split of a text: that of the environment, or a small one.
fn text(split: &str) -> String {
    let path = setting("HOOKRACK_PARITY_TEXT").unwrap_or_else(|| "text.txt".to_owned());
    format!("type = \"Text\"\npath = \"{path}\"\nsplit = \"{split}\"\ncontext = 32\n")
}

/// Both splits, with so many rows for validation.
fn splits(of: fn(&str) -> String, rows: u64) -> String {
    let [train, val] = ["train", "val"].map(of);
    format!("[data.train]\n{train}drop_last = true\n[data.val]\n{val}first = {rows}\n")
}

fn cases() -> [Case; 4] {
    let case = |name, model, data| Case { name, model, data, is_normed: false, precision: "fp32" };
    let of_images = || splits(images, 280);
    // The small text has no more.
    let rows = if setting("HOOKRACK_PARITY_TEXT").is_some() { 280 } else { 28 };
    let resnet = "type = \"ResNet\"\nstem = \"cifar\"\nwidth = 4\n";
    [
        case("mlp", "type = \"MLP\"\nhidden = [32]\n", of_images()),
        case("lenet", "type = \"LeNet\"\npadding = 2\n", of_images()),
        case("gpt", "type = \"GPT\"\nlayers = 2\nheads = 2\nwidth = 16\n", splits(text, rows)),
        // Batch norms amplify rounding from step to step: in floats one process differs from itself by 0.08 after 100 steps if it has two
        // threads instead of one. In doubles rounding starts nine orders of magnitude lower, and what remains is what ranks do.
        Case { is_normed: true, precision: "fp64", ..case("resnet", resnet, of_images()) },
    ]
}

impl Case {
    fn config(&self, steps: u64) -> String {
        let Self { name, model, data, is_normed, precision } = self;
        format!(
            "[run]\nname = \"{name}\"\n[plugins]\ndirs = [\"plugins\"]\n[model]\n{model}{data}[loss]\ntype = \"CrossEntropy\"\n\
             [optimizer]\ntype = \"SGD\"\nlr = 0.02\n[train]\nmax_iters = {steps}\nbatch_size = 32\nthreads = 1\nseed = 1\n\
             precision = \"{precision}\"\n             [distributed]\nsync_batch_norm = {is_normed}\n[default_hooks]\nlogger = {{ interval = 1 }}\n\
             [[metrics]]\ntype = \"Loss\"\n[[metrics]]\ntype = \"Accuracy\"\n\
             [[custom_hooks]]\ntype = \"RowsSeen\"\nfile = \"rows\"\n"
        )
    }

    /// Micro-batches of one process that correspond to this many ranks.
    fn micro_batches(&self, ranks: usize) -> usize {
        if self.is_normed { 1 } else { ranks }
    }
}

/// The rows of each iteration over all ranks, in no order; the files are gone afterwards.
fn rows(bench: &Bench, ranks: usize) -> BTreeMap<u64, Vec<String>> {
    let mut all: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for rank in 0..ranks {
        for line in bench.take(&format!("rows_{rank}")).lines() {
            let mut words = line.split(' ');
            let iter = words.next().unwrap().parse().unwrap();
            all.entry(iter).or_default().extend(words.map(str::to_owned));
        }
    }
    for rows in all.values_mut() {
        rows.sort();
    }
    all
}

fn furthest(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn ranks_train_what_one_process_trains_step_by_step() {
    let steps = setting("HOOKRACK_PARITY_STEPS").map_or(5, |steps| steps.parse().unwrap());
    let is_short = setting("HOOKRACK_PARITY_STEPS").is_none();
    for case in cases() {
        let bench = Bench::bare();
        bench.write("text.txt", &"the quick brown fox jumps over the lazy dog. ".repeat(200));
        bench.write("config.toml", &case.config(steps));
        // A single rank is a process alone: the same command in all but its name.
        let counts: &[usize] = if is_short { &[2, 4] } else { &[1, 2, 4] };
        for &ranks in counts {
            compare(&bench, &case, ranks, steps);
        }
        move_along(&bench, &case, steps);
    }
}

/// Trains in one process, with the micro-batches of this many ranks; saves after the last step.
fn alone(bench: &Bench, case: &Case, ranks: usize, steps: u64, name: &str) -> RunFolder {
    let parts = format!("train.accumulation={}", case.micro_batches(ranks));
    bench.trained(name, &[&parts, "--save-at", &steps.to_string()])
}

/// A run that moves from one process to two ranks, to four and back equals one that did not.
fn move_along(bench: &Bench, case: &Case, steps: u64) {
    let stayed = alone(bench, case, 4, steps, "stayed");
    let wanted = rows(bench, 1);
    let mut seen = BTreeMap::new();
    for (ranks, until) in [(1, steps / 4), (2, steps / 2), (4, steps * 3 / 4), (1, steps)] {
        let parts = case.micro_batches(4) / if case.is_normed { 1 } else { ranks };
        let (count, parts) = (ranks.to_string(), format!("train.accumulation={parts}"));
        let launch = ["launch", "-n", &count, "--", "train", "config.toml", "--run-dir", "moved"];
        let more = ["--resume", &parts, "--until", &until.to_string()];
        bench.run([&launch[..], &more].concat()).expect(0);
        seen.extend(rows(bench, ranks));
    }
    let moved = bench.folder("moved");
    assert_eq!(seen, wanted, "{}: other samples in the run that moved", case.name);
    let [left, right] = [&stayed, &moved].map(|run| run.series("train/loss"));
    assert_eq!(left.len() as u64, steps);
    let losses = furthest(&left, &right);
    let last = format!("checkpoints/iter_{steps:07}/model.safetensors");
    let weights = furthest_weight(&stayed, &moved, &last);
    let name = case.name;
    println!(
        "{name}, 1 to 2 to 4 to 1 ranks: losses differ by {losses:e}, weights by {weights:e} at most"
    );
    assert!(losses <= BOUND && weights <= BOUND, "{name}: {losses:e} {weights:e}");
}

fn compare(bench: &Bench, case: &Case, ranks: usize, steps: u64) {
    let (one, several) = (format!("one_{ranks}"), format!("ranks_{ranks}"));
    let one = alone(bench, case, ranks, steps, &one);
    let seen = rows(bench, 1);
    let count = ranks.to_string();
    let train = ["launch", "-n", &count, "--", "train", "config.toml", "--run-dir", &several];
    bench.run(train).expect(0);
    let run = bench.folder(&several);
    let name = case.name;
    assert_eq!(seen.len() as u64, steps);
    assert_eq!(seen, rows(bench, ranks), "{name}: other samples on {ranks} ranks");
    let losses = [&one, &run].map(|run| run.series("train/loss"));
    assert_eq!(losses[0].len() as u64, steps);
    let far = furthest(&losses[0], &losses[1]);
    // With two ranks every sum has two terms: it is the same in either order. Batch norms sum over the rows of a rank first.
    let is_exact = ranks == 1 || ranks == 2 && !case.is_normed;
    println!("{name}, {ranks} ranks, {steps} steps: losses differ by {far:e} at most");
    assert!(far <= if is_exact { 0.0 } else { BOUND }, "{name}, {ranks} ranks: {far:e}");
    for metric in ["val/loss", "val/Loss", "val/Accuracy"] {
        let [left, right] = [&one, &run].map(|run| run.series(metric));
        assert!(!left.is_empty(), "{name}: {metric}");
        if is_exact || metric == "val/Accuracy" {
            assert_eq!(left, right, "{name}, {ranks} ranks: {metric}");
        } else {
            let far = furthest(&left, &right);
            println!("{name}, {ranks} ranks: {metric} differs by {far:e}");
            let bound = if case.precision == "fp64" { WIDE_BOUND } else { BOUND };
            assert!(far <= bound, "{name}, {ranks} ranks: {metric} differs by {far:e}");
        }
    }
}

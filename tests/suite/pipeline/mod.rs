//! Pipelines train exactly as one process does with the same number of micro-batches. `cargo xtask pipeline` runs more steps and schedules.

mod checkpoints;
mod hooks;
mod messages;
mod training;

use crate::sharding::{Bits, bits};
use crate::workbench::{Bench, Ran, RunFolder};

/// A model and its data.
struct Case {
    name: &'static str,
    model: &'static str,
    data: String,
}

fn images(split: &str) -> String {
    format!("type = \"Digits\"\nsplit = \"{split}\"\n")
}

fn text(split: &str) -> String {
    format!("type = \"Text\"\npath = \"text.txt\"\nsplit = \"{split}\"\ncontext = 32\n")
}

fn splits(of: fn(&str) -> String) -> String {
    format!("[data.train]\n{}drop_last = true\n[data.val]\n{}first = 28\n", of("train"), of("val"))
}

/// Models of at least eight layers: two chunks on each of four stages.
fn cases() -> [Case; 5] {
    let case = |name, model, data| Case { name, model, data };
    [
        case("mlp", "type = \"MLP\"\nhidden = [32, 24, 16, 16, 12, 12, 12]\n", splits(images)),
        case(
            "lenet",
            "type = \"LeNet\"\nkernel = 3\npadding = 1\nhidden = [24, 16, 12, 12, 12]\n",
            splits(images),
        ),
        case("resnet", "type = \"ResNet\"\nstem = \"cifar\"\nwidth = 4\n", splits(images)),
        case("gpt", "type = \"GPT\"\nlayers = 6\nheads = 2\nwidth = 16\n", splits(text)),
        case("sequential", SEQUENTIAL, splits(images)),
    ]
}

/// Layers with and without parameters, batch norms, and a block that is one layer of the model.
const SEQUENTIAL: &str = "type = \"Sequential\"\nlayers = [{ type = \"conv\", outputs = 4, padding = 1 }, \
                          { type = \"norm\" }, { type = \"activation\" }, \
                          { type = \"residual\", projection = true, layers = [\
                          { type = \"conv\", outputs = 6, stride = 2, padding = 1 }, { type = \"norm\" }] }, \
                          { type = \"activation\", kind = \"gelu\" }, { type = \"pool\", kind = \"global\" }, \
                          { type = \"linear\", outputs = 12 }, { type = \"activation\" }, { type = \"linear\" }]\n";

/// For runs that differ by rounding, which training amplifies: AdamW divides gradients near 0 by their own size, and in a ResNet whose batch
/// norms have 8 rows an error of 1e-6 grows tenfold in each step. In doubles it starts at 1e-16.
const WIDE: &str = "train.precision=\"fp64\"";

const SGD: &str = "optimizer={_delete_=true,type=\"SGD\",lr=0.02,momentum=0.9}";

/// Steps of each run; more in the long form.
fn steps() -> u64 {
    std::env::var("HOOKRACK_PIPELINE_STEPS").map_or(4, |steps| steps.parse().unwrap())
}

fn is_long() -> bool {
    std::env::var_os("HOOKRACK_PIPELINE_STEPS").is_some()
}

fn bench(case: &Case, more: &str) -> Bench {
    let (bench, Case { model, data, .. }) = (Bench::bare(), case);
    bench.write("text.txt", &"the quick brown fox jumps over the lazy dog. ".repeat(200));
    bench.write(
        "config.toml",
        &format!(
            "[plugins]\ndirs = [\"plugins\"]\n[model]\n{model}{data}[loss]\ntype = \"CrossEntropy\"\n\
             [optimizer]\ntype = \"AdamW\"\nlr = 0.003\n[train]\nmax_iters = {}\nbatch_size = 32\nthreads = 1\nseed = 1\n\
             clip_grad_norm = 0.5\n[default_hooks]\nlogger = {{ interval = 1 }}\n\
             [[metrics]]\ntype = \"Loss\"\n[[metrics]]\ntype = \"Accuracy\"\n{more}",
            steps()
        ),
    );
    bench
}

/// Settings of a schedule, for the command line.
fn schedule(name: &str, stages: usize, more: &[&str]) -> Vec<String> {
    let mut set = vec![
        format!("schedule.type={name}"),
        format!("schedule.stages={stages}"),
        "schedule.microbatches=4".to_owned(),
    ];
    set.extend(more.iter().map(|set| (*set).to_owned()));
    set
}

fn launched(bench: &Bench, ranks: usize, run: &str, more: &[String]) -> Ran {
    let ranks = ranks.to_string();
    let mut args = vec!["launch", "-n", &ranks, "--", "train", "config.toml", "--run-dir", run];
    args.extend(more.iter().map(String::as_str));
    bench.run(args)
}

fn alone(bench: &Bench, run: &str, more: &[&str]) -> RunFolder {
    bench.trained(run, &[&["train.accumulation=4"], more].concat())
}

fn saved(run: &RunFolder) -> [Bits; 2] {
    let last = run.checkpoints().pop().unwrap();
    let path = run.path.join("checkpoints").join(last);
    ["model", "optimizer"].map(|kind| bits(&path, kind))
}

const SCALARS: [&str; 6] =
    ["train/loss", "train/lr", "val/loss", "val/Loss", "val/Accuracy", "train/Accuracy"];

#[track_caller]
fn assert_same(one: &RunFolder, other: &RunFolder, what: &str) {
    assert_eq!(saved(one), saved(other), "{what}");
    for name in SCALARS {
        assert_eq!(one.series(name), other.series(name), "{what}: {name}");
    }
}

//! Data through the program: what threads, transforms and samples that cannot be read do to a run.

use crate::workbench::{Bench, RunFolder};
use std::fs;

/// Every transform that draws random numbers. No clock: how long an iteration took is never the same.
const DIGITS: &str = r#"
[plugins]
dirs = ["plugins"]
[model]
type = "MLP"
hidden = [16]
[data.train]
type = "Digits"
transforms = [
    { type = "RandomCrop", padding = 1 },
    { type = "Rotate", degrees = 10.0 },
    { type = "RandomFlip", p = 0.1 },
    { type = "RandomErase" },
    { type = "Cutout", side = 2 },
    { type = "Normalize", mean = [0.3], std = [0.37] },
    { type = "MixUp", alpha = 0.4 },
]
[data.val]
type = "Digits"
split = "val"
transforms = [{ type = "Normalize", mean = [0.3], std = [0.37] }]
[loss]
type = "CrossEntropy"
[optimizer]
type = "AdamW"
lr = 0.01
[train]
max_iters = 40
threads = 1
[default_hooks]
timer = false
logger = { interval = 5 }
checkpoint = { iter_period = 40 }
[[metrics]]
type = "Accuracy"
phase = ["train", "val"]
"#;

fn bench(config: &str) -> Bench {
    let bench = Bench::bare();
    bench.write("config.toml", config);
    bench
}

fn weights(run: &RunFolder) -> Vec<u8> {
    fs::read(run.path.join("checkpoints/iter_0000040/model.safetensors")).unwrap()
}

#[test]
fn threads_do_not_change_a_number_of_a_run_with_transforms() {
    let bench = bench(DIGITS);
    let alone = bench.trained("alone", &["-s", "data.train.workers=0"]);
    let threads =
        bench.trained("threads", &["-s", "data.train.workers=3", "-s", "data.train.prefetch=2"]);
    assert_eq!(weights(&alone), weights(&threads));
    assert_eq!(alone.text("metrics.json"), threads.text("metrics.json"));
    let accuracy = alone.scalar("val/Accuracy");
    assert!(accuracy > 0.3, "mixed labels are learnt from: {accuracy}");
}

#[test]
fn a_sample_that_cannot_be_read_ends_the_run_with_its_file_and_code_5() {
    let config = DIGITS.replace(
        "type = \"Digits\"\ntransforms = [\n",
        "type = \"ImageFolder\"\ndir = \"pictures\"\nsize = [8, 8]\nchannels = 1\nbatch_size = 2\ntransforms = [\n",
    );
    let bench = bench(&config);
    for class in 0..10 {
        fs::create_dir_all(bench.path(&format!("pictures/{class}"))).unwrap();
        bench.write(&format!("pictures/{class}/only.png"), "no picture");
    }
    for workers in ["data.train.workers=0", "data.train.workers=2"] {
        let (ran, _) = bench.train(workers, &["-s", workers]);
        ran.expect(5).says(&["/only.png is not a readable image", "iteration"]);
    }
}

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

fn weights(run: &RunFolder) -> Vec<u8> {
    fs::read(run.path.join("checkpoints/iter_0000040/model.safetensors")).unwrap()
}

/// A run on the tables `train.csv` and `val.csv`.
const TABLES: &str = r#"
[model]
type = "MLP"
[data.train]
type = "Csv"
path = "train.csv"
label = "pet"
[data.val]
type = "Csv"
path = "val.csv"
label = "pet"
[loss]
type = "CrossEntropy"
[optimizer]
type = "SGD"
[train]
max_epochs = 1
batch_size = 2
"#;

#[test]
fn a_class_has_the_same_index_in_every_split() {
    let bench = Bench::of(TABLES);
    bench.write("train.csv", "weight,pet\n4,cat\n9,dog\n1,fish\n");
    let check = |sets: &[&str]| bench.run(["check", "config.toml"].iter().chain(sets));
    bench.write("val.csv", "weight,pet\n8,dog\n5,cat\n");
    check(&[]).expect(0);
    bench.write("val.csv", "weight,pet\n8,dog\n2,fish\n");
    check(&[]).expect(2).says(&[
        "`data.val`: class 0 is `dog` here and `cat` in data.train",
        "config.toml:8:",
        "set `classes` to the same list in every section",
    ]);
    let classes = "classes=[\"cat\", \"dog\", \"fish\"]";
    check(&[&format!("data.val.{classes}")]).expect(0);
    // What is to be predicted needs no labels of its own.
    let pred = "data.pred={type='Csv', path='val.csv', label='pet'}";
    check(&[&format!("data.val.{classes}"), pred]).expect(0);
}

#[test]
fn a_token_is_the_same_character_in_every_split() {
    let text = |name: &str| format!("type='Text', path='{name}', context=4, unit='chars'");
    let model = "model={_delete_=true, type='GPT', layers=1, heads=1, width=4}";
    let bench = Bench::of(TABLES);
    bench.write("one.txt", &"abcabc".repeat(10));
    bench.write("other.txt", &"abdabd".repeat(10));
    let sets = |more: &str| {
        let split =
            |key: &str, name: &str| format!("data.{key}={{_delete_=true, {}{more}}}", text(name));
        [model.to_owned(), split("train", "one.txt"), split("val", "other.txt")]
    };
    let check = |sets: [String; 3]| {
        bench.run(["check".to_owned(), "config.toml".to_owned()].into_iter().chain(sets))
    };
    check(sets("")).expect(2).says(&["`data.val`: its characters are not those of data.train"]);
    bench.write("all.txt", "abcd");
    check(sets(", vocabulary='all.txt'")).expect(0);
}

#[test]
fn threads_do_not_change_a_number_of_a_run_with_transforms() {
    let bench = Bench::of(DIGITS);
    let alone = bench.trained("alone", &["data.train.workers=0"]);
    let threads = bench.trained("threads", &["data.train.workers=3", "data.train.prefetch=2"]);
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
    let bench = Bench::of(&config);
    for class in 0..10 {
        fs::create_dir_all(bench.path(&format!("pictures/{class}"))).unwrap();
        bench.write(&format!("pictures/{class}/only.png"), "no picture");
    }
    for workers in ["0", "2"] {
        let (ran, _) = bench.train(workers, &[&format!("data.train.workers={workers}")]);
        ran.expect(5).says(&["/only.png is not a readable image", "iteration"]);
    }
}

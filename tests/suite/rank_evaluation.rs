//! `eval` and `predict` on several ranks have the results of one process, bit for bit.

use crate::workbench::{Bench, Ran};
use std::fs;

/// Real data whose batches cannot be divided evenly among ranks.
const DIGITS: &str = r#"
[run]
name = "run"
[model]
type = "LeNet"
padding = 2
[data.train]
type = "Digits"
split = "train"
first = 96
[data.val]
type = "Digits"
split = "val"
first = 70
[data.test]
type = "Digits"
split = "val"
[data.tests.few]
type = "Digits"
split = "val"
first = 9
[data.pred]
type = "Digits"
split = "val"
[loss]
type = "CrossEntropy"
[optimizer]
type = "AdamW"
[train]
max_epochs = 1
batch_size = 32
threads = 1
seed = 1
[[metrics]]
type = "Accuracy"
[[metrics]]
type = "Loss"
[[metrics]]
type = "AUROC"
[[metrics]]
type = "F1"
phase = ["train", "val", "test"]
"#;

fn trained() -> Bench {
    let bench = Bench::of(DIGITS);
    bench.trained("run", &[]);
    bench
}

fn launched(bench: &Bench, ranks: usize, args: &[&str]) -> Ran {
    let ranks = ranks.to_string();
    let all = [&["launch", "-n", &ranks, "--"], args].concat();
    bench.run(all)
}

#[test]
fn metrics_and_predictions_have_the_bits_of_one_process_on_any_number_of_ranks() {
    let bench = trained();
    let eval = ["eval", "config.toml", "--checkpoint", "run", "--out"];
    let predict = ["predict", "config.toml", "--checkpoint", "run", "--out"];
    bench.run(eval.iter().chain(&["one.json"])).expect(0);
    bench.run(predict.iter().chain(&["one.safetensors"])).expect(0);
    // 3 does not divide the training batch size, which does not matter here; with 5 each has less than one batch of the small set.
    for ranks in [2, 3, 5] {
        let ran = launched(&bench, ranks, &[&eval[..], &["several.json"]].concat());
        ran.expect(0);
        assert_eq!(bench.take("several.json"), bench.read("one.json"), "{ranks} ranks");
        assert_eq!(ran.stdout.matches("test/few/Accuracy").count(), 1, "{}", ran.stdout);
        let ran = launched(&bench, ranks, &[&predict[..], &["several.safetensors"]].concat());
        ran.expect(0).prints(&["355 predictions in several.safetensors"]);
        let [one, several] = ["one", "several"]
            .map(|name| fs::read(bench.path(&format!("{name}.safetensors"))).unwrap());
        assert_eq!(one, several, "{ranks} ranks");
    }
}

#[test]
fn validation_on_two_ranks_equals_that_of_one_process() {
    let bench = Bench::of(DIGITS);
    let sgd = ["optimizer={_delete_=true,type=\"SGD\",lr=0.1}"];
    let one = bench.trained("one", &[&sgd[..], &["train.accumulation=2"]].concat());
    let train = [&["train", "config.toml", "--run-dir", "two"], &sgd[..]].concat();
    launched(&bench, 2, &train).expect(0);
    let two = bench.folder("two");
    for name in ["val/loss", "val/Loss", "val/Accuracy", "val/AUROC", "val/F1"] {
        assert!(!one.series(name).is_empty(), "{name}");
        assert_eq!(one.series(name), two.series(name), "{name}");
    }
}

#[test]
fn a_single_process_command_is_refused_on_several_ranks() {
    let bench = trained();
    let prompt = ["predict", "config.toml", "--checkpoint", "run", "--prompt", "a"];
    launched(&bench, 2, &prompt).expect(2).says(&["launch starts `train`, `eval` and `predict`"]);
    let mut command = bench.command(prompt);
    command.envs([("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "7")]);
    let wanted = "`predict --prompt` runs as a single process, but this is rank 1 of 2";
    Ran::of(&mut command).expect(2).says(&[wanted]);
    let missing = ["eval", "config.toml", "--checkpoint", "nowhere"];
    launched(&bench, 2, &missing).expect(2).says(&["nowhere"]);
}

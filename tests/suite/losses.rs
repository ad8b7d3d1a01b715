//! What a loss ignores or weighs counts as much everywhere: over a pass, in metrics, in data, at the end of a run.

use crate::workbench::{Bench, RunFolder};
use std::fmt::Write as _;

/// Weights stay as they are drawn: `lr` is 0.
const STILL: &str = r#"
[plugins]
dirs = ["plugins"]
[model]
type = "MLP"
hidden = [16]
[data.train]
type = "Digits"
[data.val]
type = "Digits"
split = "val"
[loss]
type = "CrossEntropy"
class_weights = [0.0, 5.0, 1.0, 0.1, 1.0, 9.0, 1.0, 1.0, 0.3, 1.0]
ignore_index = 7
[optimizer]
type = "SGD"
lr = 0.0
[train]
max_epochs = 1
threads = 1
[[metrics]]
type = "Loss"
phase = ["train", "val"]
[[metrics]]
type = "Accuracy"
"#;

/// A batch of 297 is a sum of 297 floats: as many roundings of 6e-8 are 2e-5, whatever the order, and 5e-5 allows for both
/// sides. Sums over batches are in doubles. A batch that is weighed by its rows changes the third digit.
#[test]
fn the_loss_of_a_pass_does_not_depend_on_the_batch_size() {
    let bench = Bench::of(STILL);
    let mut found: Vec<(u32, Vec<f64>)> = Vec::new();
    for size in [297, 37, 8, 1] {
        let (own, of_val) =
            (format!("train.batch_size={}", size.max(8)), format!("data.val.batch_size={size}"));
        let run = bench.trained(&format!("run_{size}"), &[&own, &of_val]);
        let names = ["val/loss", "val/Loss", "train/loss_epoch", "train/Loss", "val/Accuracy"];
        found.push((size, names.map(|name| run.scalar(name)).to_vec()));
    }
    let (_, whole) = &found[0];
    for (size, losses) in &found {
        for (one, other) in whole.iter().zip(losses) {
            assert!((one - other).abs() < 5e-5 * one.abs(), "{size}: {losses:?}, not {whole:?}");
        }
    }
}

const TABLE: &str = r#"
[model]
type = "MLP"
hidden = [4]
[data.train]
type = "Csv"
path = "train.csv"
label = "kind"
[data.val]
type = "Csv"
path = "val.csv"
label = "kind"
classes = ["0", "1", "2"]
[loss]
type = "CrossEntropy"
[optimizer]
type = "SGD"
lr = 0.0
[train]
max_epochs = 1
batch_size = 5
threads = 1
[[metrics]]
type = "Accuracy"
[[metrics]]
type = "F1"
[[metrics]]
type = "Perplexity"
[[metrics]]
type = "TopK"
k = 2
"#;

/// A table of this many samples of three classes, in which every third label is ignored.
fn table(rows: u32, ignored: Option<&str>) -> String {
    let mut text = String::from("a,b,kind\n");
    for row in 0..rows {
        _ = writeln!(text, "{},{},{}", row * 7 % 5, row * 3 % 11, row % 3);
        if let Some(label) = ignored {
            _ = writeln!(text, "{},{},{label}", row % 4, row % 9);
        }
    }
    text
}

fn measured(run: &RunFolder) -> [f64; 5] {
    ["val/loss", "val/Accuracy", "val/F1", "val/Perplexity", "val/TopK"]
        .map(|name| run.scalar(name))
}

#[test]
fn a_label_that_the_loss_ignores_counts_in_no_metric_and_is_accepted_in_data() {
    let bench = Bench::of(TABLE);
    bench.write("train.csv", &table(20, None));
    bench.write("val.csv", &table(20, None));
    let without = measured(&bench.trained("without", &[]));
    for (name, label, more) in
        [("default", "-100", &[][..]), ("own", "255", &["loss.ignore_index=255"])]
    {
        bench.write("train.csv", &table(20, Some(label)));
        bench.write("val.csv", &table(20, Some(label)));
        let with = measured(&bench.trained(name, more));
        // Means of 20 floats: some 50 roundings of 6e-8 with what the model does.
        for (one, other) in without.iter().zip(with) {
            assert!((one - other).abs() < 1e-5 * one.abs(), "{name}: {with:?}, not {without:?}");
        }
    }
}

#[test]
fn the_resolved_config_says_what_is_ignored_and_an_own_number_stays() {
    let bench = Bench::of(TABLE);
    let keys = |more: &[&str], wanted: &str| {
        let ran = bench.run([&["config", "config.toml"], more].concat());
        ran.expect(0);
        let said = |line: &&str| {
            let mut words = line.split_whitespace();
            words.next().is_some_and(|key| key.ends_with(".ignore_index"))
                && words.nth(1) == Some(wanted)
        };
        ran.stdout.lines().filter(said).count()
    };
    let all = keys(&["loss.ignore_index=7"], "7");
    assert_eq!(all, 7, "the loss, two tables, and four metrics, one of them a plugin's");
    let own = ["loss.ignore_index=7", "metrics.1.ignore_index=-1"];
    assert_eq!([keys(&own, "7"), keys(&own, "-1")], [6, 1]);
}

#[test]
fn an_iteration_in_which_no_label_counts_changes_nothing() {
    let guard = "[[custom_hooks]]\ntype = \"NaNGuard\"\n[default_hooks]\ncheckpoint = { iter_period = 1 }\n";
    let bench = Bench::of(&format!("{TABLE}{guard}"));
    // Four batches of five; the second has no label that counts.
    let mut rows: Vec<String> = table(20, None).lines().map(str::to_owned).collect();
    for row in &mut rows[6..11] {
        *row = "1,2,-100".to_owned();
    }
    bench.write("train.csv", &rows.join("\n"));
    bench.write("val.csv", &table(20, None));
    let settings = ["data.train.shuffle=false", "optimizer.lr=0.1", "optimizer.weight_decay=0.1"];
    let sam = "custom_hooks=[{type='NaNGuard', grads=true}, {type='SamHook'}]";
    for (name, more) in [
        ("whole", &[][..]),
        ("parts", &["train.accumulation=2"]),
        ("clipped", &["train.clip_grad_norm=1.0"]),
        ("second_pass", &[sam]),
    ] {
        let run = bench.trained(name, &[&settings[..], more].concat());
        let weights = |iter| run.model(iter);
        assert!(weights(1) == weights(2), "{name}: the second iteration changes the weights");
        assert!(weights(2) != weights(3), "{name}");
        assert!(run.scalar("train/loss_epoch").is_finite(), "{name}");
    }
}

#[test]
fn a_run_that_ends_in_nan_says_so() {
    let bench = Bench::new("");
    let hopeless = ["optimizer.type=SGD", "optimizer.lr=1e38", "train.max_epochs=4"];
    let (ran, run) = bench.train("run", &hopeless);
    ran.expect(0).prints(&["completed", "warning: the weights are NaN or infinite"]);
    ran.says(&["the training loss is "]);
    assert!(run.record()["warning"].as_str().unwrap().contains("NaNGuard"));
    let (ran, run) = bench.train("fine", &[]);
    ran.expect(0);
    assert!(!ran.stdout.contains("warning") && run.record()["warning"].is_null());
}

/// A file as `numpy.save` writes it.
fn npy(rows: usize, columns: usize, number: impl Fn(usize, usize) -> f32) -> Vec<u8> {
    let shape = format!("({rows}, {columns})");
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").bytes());
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    file.extend(places.flat_map(|(row, column)| number(row, column).to_le_bytes()));
    file
}

#[test]
fn a_metric_of_classes_refuses_labels_that_are_none() {
    let run = |name: &str, data: &str, loss: &str, metric: &str, outputs: usize| {
        let bench = Bench::of(&format!(
            "[model]\ntype = \"MLP\"\noutputs = {outputs}\n[data.train]\n{data}[data.val]\n{data}\
             [loss]\ntype = \"{loss}\"\n[optimizer]\ntype = \"SGD\"\n[train]\nmax_epochs = 1\nbatch_size = 8\n\
             [[metrics]]\ntype = \"{metric}\"\non_error = \"abort\"\n"
        ));
        std::fs::write(
            bench.path("x.npy"),
            npy(16, 4, |row, column| if row % 4 == column { 1.0 } else { 0.0 }),
        )
        .unwrap();
        std::fs::write(
            bench.path("several.npy"),
            npy(16, 3, |_, column| f32::from(u8::from(column > 0))),
        )
        .unwrap();
        std::fs::write(
            bench.path("shares.npy"),
            npy(16, 3, |row, column| if column == row % 3 { 0.8 } else { 0.1 }),
        )
        .unwrap();
        std::fs::write(bench.path("values.npy"), npy(16, 1, |_, _| 0.37)).unwrap();
        std::fs::write(bench.path("halves.npy"), npy(16, 1, |row, _| f32::from(u8::from(row > 7))))
            .unwrap();
        bench.train(name, &[]).0
    };
    let labels =
        |file: &str| format!("type = \"Npy\"\ninputs = \"x.npy\"\nlabels = \"{file}.npy\"\n");
    let none = "labels are not class probabilities: a row sums to 2; this metric needs classes";
    run("run", &labels("several"), "BCEWithLogits", "Accuracy", 3).expect(4).says(&[none]);
    for metric in ["Accuracy", "F1", "AUROC"] {
        let none = "label 0.37 is not a class: this metric needs class indices";
        run("run", &labels("values"), "MSE", metric, 1).expect(4).says(&[none]);
    }
    run("run", &labels("values"), "MSE", "BLEU", 1).expect(4).says(&["label 0.37 is not a token"]);
    // Soft labels, and whole numbers in floats, are classes.
    run("run", &labels("shares"), "BCEWithLogits", "Accuracy", 3).expect(0);
    run("run", &labels("halves"), "BCEWithLogits", "Accuracy", 1).expect(0);
}

//! The SWA plugin: equal weights over the last epochs, a held rate, swapped in for evaluations and back.

use crate::workbench::{Bench, RunFolder};
use std::collections::HashMap;

#[test]
fn the_average_has_equal_weights_and_the_rate_is_held() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"SWAHook\"\nname = \"swa\"\nstart = 0.5\nlr = 0.25\nanneal_epochs = 1\n\
         [lr_scheduler]\ntype = \"StepLR\"\n",
    );
    let run = bench.trained("run", &["train.max_epochs=4"]);
    assert!((run.scalar("train/lr") - 0.25).abs() < 1e-12);
    let models = [6, 8].map(|iter| run.model(iter));
    let average = run.tensors("swa.safetensors");
    for (name, values) in &average {
        for ((value, first), second) in values.iter().zip(&models[0][name]).zip(&models[1][name]) {
            assert!((value - f32::midpoint(*first, *second)).abs() < 1e-6, "{name}");
        }
    }
    // The average is evaluated; the model itself is trained and saved.
    let without = Bench::new("[lr_scheduler]\ntype = \"StepLR\"\n");
    let plain = without.trained("run", &["train.max_epochs=2"]);
    let first = run.model(4);
    assert_eq!(first, plain.model(4));
}

/// Eight samples of two columns, in two batches of four, and a batch norm that sees them as they are.
const NORMED: &str = r#"
[run]
name = "run"
[plugins]
dirs = ["plugins"]
[data.train]
type = "Csv"
path = "table.csv"
label = "y"
shuffle = false
[data.val]
type = "Csv"
path = "table.csv"
label = "y"
[model]
type = "Sequential"
layers = [{ type = "norm" }, { type = "linear", outputs = 4 }, { type = "dropout" }, { type = "norm" }, { type = "linear" }]
[loss]
type = "CrossEntropy"
[optimizer]
type = "AdamW"
[train]
max_epochs = 4
batch_size = 4
threads = 1
seed = 1
"#;

const COLUMNS: [[f32; 8]; 2] =
    [[1.0, 3.0, 2.0, 6.0, 10.0, 20.0, 30.0, 44.0], [-1.0, -1.5, 0.5, 0.0, 8.0, 9.0, 7.0, 6.0]];

fn table() -> String {
    let row = |i: usize| format!("{},{},{}\n", COLUMNS[0][i], COLUMNS[1][i], i % 2);
    format!("a,b,y\n{}", (0..8).map(row).collect::<String>())
}

/// The mean over both batches of their means, or of their unbiased variances.
fn over_batches(column: [f32; 8], is_variance: bool) -> f32 {
    let of_batch = |batch: &[f32]| {
        let mean = batch.iter().sum::<f32>() / 4.0;
        let squares: f32 = batch.iter().map(|value| (value - mean).powi(2)).sum();
        if is_variance { squares / 3.0 } else { mean }
    };
    f32::midpoint(of_batch(&column[..4]), of_batch(&column[4..]))
}

fn model_of(run: &RunFolder) -> HashMap<String, Vec<f32>> {
    run.model(8)
}

#[test]
fn batch_norms_have_statistics_of_the_average_in_its_file_and_their_own_in_the_model() {
    let bench = Bench::bare();
    bench.write("table.csv", &table());
    bench.write("plain.toml", NORMED);
    let swa = "[[custom_hooks]]\ntype = \"SWAHook\"\nname = \"swa\"\nstart = 0.5\n";
    bench.write("config.toml", &format!("{NORMED}{swa}"));
    let run = bench.trained("run", &[]);
    let average = run.tensors("swa.safetensors");
    for (index, column) in COLUMNS.into_iter().enumerate() {
        for (name, is_variance) in [("running_mean", false), ("running_var", true)] {
            let (found, wanted) =
                (average[&format!("layers.0.{name}")][index], over_batches(column, is_variance));
            let close = (found - wanted).abs() <= 1e-5 * wanted.abs().max(1.0);
            assert!(close, "{name} of column {index}: {found}, not {wanted}");
        }
    }
    // What is trained never sees them.
    let plain = bench.folder("plain");
    bench.run(["train", "plain.toml", "--run-dir", "plain"]).expect(0);
    assert_ne!(model_of(&run)["layers.0.running_mean"], average["layers.0.running_mean"]);
    assert_eq!(model_of(&run)["layers.0.running_mean"], model_of(&plain)["layers.0.running_mean"]);
    assert_eq!(model_of(&run)["layers.0.running_var"], model_of(&plain)["layers.0.running_var"]);

    let without = bench.trained("without", &["custom_hooks.0.update_bn=false"]);
    let kept = without.tensors("swa.safetensors");
    assert_eq!(kept["layers.0.running_mean"], model_of(&without)["layers.0.running_mean"]);
}

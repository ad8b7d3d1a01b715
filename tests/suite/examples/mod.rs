//! Each plugin of `examples/plugins` does what its paper says: compared with a linear model that is trained by hand.

mod activation_norms;
mod adversarial;
mod cpp;
mod distillation;
mod linear;
mod lines;

use crate::workbench::{Bench, hook, library};
use linear::{FEATURES, Linear, SAMPLES, initial};
use std::fmt::Write as _;
use std::fs;

/// A config with one linear layer, all samples in each batch, and plain steps of 0.5.
fn config(more: &str) -> String {
    format!(
        r#"
[run]
name = "run"
[plugins]
dirs = ["plugins"]
[model]
type = "MLP"
hidden = []
[data.train]
type = "Csv"
path = "data.csv"
label = "label"
[data.val]
type = "Csv"
path = "data.csv"
label = "label"
[loss]
type = "CrossEntropy"
[optimizer]
type = "SGD"
lr = 0.5
[train]
max_epochs = 4
batch_size = 6
threads = 1
seed = 1
{more}
"#
    )
}

/// A folder with that config, the data and the example plugins.
fn bench(more: &str) -> Bench {
    let bench = Bench::bare();
    add_examples(&bench);
    bench.write("config.toml", &config(more));
    let mut csv = "a,b,c,label\n".to_owned();
    for ([a, b, c], label) in SAMPLES {
        _ = writeln!(csv, "{a},{b},{c},{label}");
    }
    bench.write("data.csv", &csv);
    bench
}

fn add_examples(bench: &Bench) {
    for name in [
        "activation_norms",
        "adversarial",
        "cutmix",
        "distillation",
        "focal_loss",
        "gradient_centralization",
        "lookahead",
        "sam",
    ] {
        let file = format!("lib{name}.so");
        fs::hard_link(library(&file), bench.path("plugins").join(file)).unwrap();
    }
}

#[test]
fn the_hand_made_model_trains_as_the_host_s_own() {
    let wanted = (0..4).fold(initial(), |weights, _| weights.step());
    Linear::read(&bench("").trained("run", &[]), 4).assert_near(&wanted);
}

#[test]
fn focal_loss_is_its_formula() {
    let bench = bench(&hook("FocalLoss", "gamma = 3.0"));
    bench.replace("[loss]\ntype = \"CrossEntropy\"\n", "");
    let run = bench.trained("run", &["optimizer.lr=0"]);
    let wanted = initial().mean(|p| -(1.0 - p).powi(3) * p.ln());
    for name in ["train/loss", "val/loss"] {
        assert!((run.scalar(name) - wanted).abs() < 1e-6, "{name}: {}, {wanted}", run.scalar(name));
    }
    let plain = bench.trained("plain", &["optimizer.lr=0", "custom_hooks.0.gamma=0"]);
    assert!((plain.scalar("val/loss") - initial().mean(|p| -p.ln())).abs() < 1e-6);
}

#[test]
fn sam_steps_by_the_gradient_at_the_worst_point_nearby() {
    let step = |weights: Linear| {
        let first = weights.gradient();
        let worst = weights.plus(&first, 0.7 / first.norm());
        weights.plus(&worst.gradient(), -0.5)
    };
    let before_last = (0..3).fold(initial(), |weights, _| step(weights));
    let wanted = step(before_last.clone());
    let bench = bench(&hook("Sam", "rho = 0.7"));
    for parts in ["1", "4"] {
        let run = bench.trained(parts, &[&format!("train.accumulation={parts}")]);
        Linear::read(&run, 4).assert_near(&wanted);
        let first = before_last.mean(|p| -p.ln());
        let logged = run.scalar("train/loss");
        assert!((logged - first).abs() < 1e-5, "{logged}, at the weights themselves {first}");
    }
    wanted.assert_far(&(0..4).fold(initial(), |weights, _| weights.step()));
}

#[test]
fn lookahead_moves_slow_weights_every_k_steps_and_resumes_between_them() {
    let slow = |from: &Linear| from.plus(&from.step().step().step().plus(from, -1.0), 0.25);
    let wanted = slow(&slow(&initial()));
    let bench = bench(&hook("Lookahead", "every = '3it'\nalpha = 0.25"));
    let run = bench.trained("run", &["train.max_epochs=6"]);
    Linear::read(&run, 6).assert_near(&wanted);
    // Cut off one step after the slow weights have moved: those of the checkpoint are taken up, not new ones.
    let cut = bench.trained("cut", &["train.max_epochs=4"]);
    bench.trained("cut", &["--resume", "train.max_epochs=6"]);
    Linear::read(&cut, 6).assert_near(&wanted);
}

#[test]
fn gradient_centralization_takes_each_row_s_mean_out_before_clipping() {
    let centered = |weights: &Linear| {
        let mut gradient = weights.gradient();
        for row in &mut gradient.rows {
            let mean = row[..FEATURES].iter().sum::<f64>() / 3.0;
            row[..FEATURES].iter_mut().for_each(|x| *x -= mean);
        }
        gradient
    };
    let bench = bench(&hook("GradientCentralization", ""));
    let wanted = (0..4).fold(initial(), |weights, _| weights.plus(&centered(&weights), -0.5));
    Linear::read(&bench.trained("run", &[]), 4).assert_near(&wanted);
    let clipped = (0..4).fold(initial(), |weights, _| {
        let gradient = centered(&weights);
        weights.plus(&gradient, -0.5 * (0.1 / gradient.norm()).min(1.0))
    });
    let run = bench.trained("clipped", &["train.clip_grad_norm=0.1"]);
    Linear::read(&run, 4).assert_near(&clipped);
}

#[test]
fn cutmix_mixes_labels_by_the_area_that_it_cuts_and_composes_with_sam_and_accumulation() {
    let bench = bench(&format!(
        "{}{}{}",
        hook("CutMix", "classes = 3"),
        hook("MixSpy", ""),
        hook("Sam", "rho = 0.1")
    ));
    // Twelve images of 8x8, each pixel of which is the number of its class.
    let labels: Vec<i64> = (0..12).map(|i| i % 3).collect();
    let pixels: Vec<f32> = labels
        .iter()
        .flat_map(|class| [[0.0, 1.0, 2.0][usize::try_from(*class).unwrap()]; 64])
        .collect();
    let images = tch::Tensor::from_slice(&pixels).reshape([12, 1, 8, 8]);
    let tensors = [("inputs", images), ("labels", tch::Tensor::from_slice(&labels))];
    tch::Tensor::write_safetensors(&tensors, bench.path("images.safetensors")).unwrap();
    let text = bench.read("config.toml").replacen(
        "type = \"Csv\"\npath = \"data.csv\"\nlabel = \"label\"",
        "type = \"Safetensors\"\npath = \"images.safetensors\"",
        2,
    );
    bench.write("config.toml", &text);
    let run = bench.trained("run", &["train.accumulation=2", "train.max_epochs=8"]);
    let mixed: Vec<f64> = run.series("hook/MixSpy/mixed");
    assert!(mixed.iter().any(|rows| *rows > 0.0), "some rows are of two classes: {mixed:?}");
}

#[test]
fn a_hook_declares_that_it_changes_the_batch() {
    let bench = bench("");
    let inspected = bench.run(["inspect", "plugins/libcutmix.so"]);
    inspected.expect(0).prints(&["mutates  input, label"]);
}

//! Each plugin of `examples/plugins` does what its paper says: compared with a linear model that is trained by hand.

use crate::workbench::{Bench, RunFolder, library};
use crate::workshop::repository;
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

const FEATURES: usize = 3;
const CLASSES: usize = 3;
const SAMPLES: [([f64; FEATURES], usize); 6] = [
    ([1.0, 0.5, -1.0], 0),
    ([0.2, -0.4, 0.8], 1),
    ([-1.5, 2.0, 0.3], 2),
    ([0.7, 0.1, 0.9], 0),
    ([-0.6, -1.2, 0.4], 1),
    ([2.0, 1.0, 0.5], 2),
];

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
        "cutmix",
        "distillation",
        "focal_loss",
        "gradient_centralization",
        "lookahead",
        "sam",
    ] {
        let file = format!("lib{name}.so");
        symlink(library(&file), bench.path("plugins").join(file)).unwrap();
    }
}

/// The weights of a linear model, a row of features and a bias for each class; or a gradient.
#[derive(Clone, Debug, PartialEq)]
struct Linear {
    rows: Vec<[f64; FEATURES + 1]>,
}

impl Linear {
    fn read(run: &RunFolder, iter: u64) -> Self {
        let tensors = run.tensors(&format!("checkpoints/iter_{iter:07}/model.safetensors"));
        let (weight, bias) = (&tensors["layers.0.weight"], &tensors["layers.0.bias"]);
        let number = |class: usize, i: usize| match i {
            FEATURES => f64::from(bias[class]),
            i => f64::from(weight[class * FEATURES + i]),
        };
        let row = |class| std::array::from_fn(|i| number(class, i));
        Self { rows: (0..CLASSES).map(row).collect() }
    }

    fn scores(&self, features: [f64; FEATURES]) -> Vec<f64> {
        let score = |row: &[f64; FEATURES + 1]| {
            let sum: f64 = features.iter().zip(row).map(|(x, w)| x * w).sum();
            sum + row[FEATURES]
        };
        self.rows.iter().map(score).collect()
    }

    fn probabilities(&self, features: [f64; FEATURES]) -> Vec<f64> {
        let scores: Vec<f64> = self.scores(features).into_iter().map(f64::exp).collect();
        scores.iter().map(|score| score / scores.iter().sum::<f64>()).collect()
    }

    /// The mean over all samples of what `of` makes of the probability of the right class.
    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        let each = SAMPLES.map(|(features, label)| of(self.probabilities(features)[label]));
        each.iter().sum::<f64>() / 6.0
    }

    /// The gradient of the mean cross entropy.
    fn gradient(&self) -> Self {
        let mut rows = vec![[0.0; FEATURES + 1]; CLASSES];
        for (features, label) in SAMPLES {
            for (class, p) in self.probabilities(features).into_iter().enumerate() {
                let error = (p - f64::from(u8::from(class == label))) / 6.0;
                for (i, out) in rows[class].iter_mut().enumerate() {
                    *out += error * features.get(i).unwrap_or(&1.0);
                }
            }
        }
        Self { rows }
    }

    fn plus(&self, other: &Self, factor: f64) -> Self {
        let add = |(a, b): (&[f64; 4], &[f64; 4])| std::array::from_fn(|i| a[i] + factor * b[i]);
        Self { rows: self.rows.iter().zip(&other.rows).map(add).collect() }
    }

    fn norm(&self) -> f64 {
        self.rows.iter().flatten().map(|x| x * x).sum::<f64>().sqrt()
    }

    fn step(&self) -> Self {
        self.plus(&self.gradient(), -0.5)
    }

    /// Floats of some steps against doubles: a few dozen roundings of numbers of about 1.
    #[track_caller]
    fn assert_near(&self, other: &Self) {
        let far = self.plus(other, -1.0).norm();
        assert!(far < 1e-5, "{far} between {self:?} and {other:?}");
    }

    #[track_caller]
    fn assert_far(&self, other: &Self) {
        assert!(self.plus(other, -1.0).norm() > 1e-3, "{self:?} is like {other:?}");
    }
}

/// The weights that a run begins with: one that does not learn ends with them.
fn initial() -> Linear {
    Linear::read(&bench("").trained("still", &["-s", "optimizer.lr=0"]), 4)
}

fn hook(name: &str, more: &str) -> String {
    format!("[[custom_hooks]]\ntype = \"{name}\"\n{more}\n")
}

#[test]
fn the_hand_made_model_trains_as_the_host_s_own() {
    let wanted = (0..4).fold(initial(), |weights, _| weights.step());
    Linear::read(&bench("").trained("run", &[]), 4).assert_near(&wanted);
}

#[test]
fn focal_loss_is_its_formula() {
    let bench = bench(&hook("FocalLoss", "gamma = 3.0"));
    bench.write(
        "config.toml",
        &bench.read("config.toml").replace("[loss]\ntype = \"CrossEntropy\"\n", ""),
    );
    let run = bench.trained("run", &["-s", "optimizer.lr=0"]);
    let wanted = initial().mean(|p| -(1.0 - p).powi(3) * p.ln());
    for name in ["train/loss", "val/loss"] {
        assert!((run.scalar(name) - wanted).abs() < 1e-6, "{name}: {}, {wanted}", run.scalar(name));
    }
    let plain = bench.trained("plain", &["-s", "optimizer.lr=0", "-s", "custom_hooks.0.gamma=0"]);
    assert!((plain.scalar("val/loss") - initial().mean(|p| -p.ln())).abs() < 1e-6);
}

#[test]
fn sam_steps_by_the_gradient_at_the_worst_point_nearby() {
    let step = |weights: Linear| {
        let first = weights.gradient();
        let worst = weights.plus(&first, 0.7 / first.norm());
        weights.plus(&worst.gradient(), -0.5)
    };
    let wanted = (0..4).fold(initial(), |weights, _| step(weights));
    let bench = bench(&hook("Sam", "rho = 0.7"));
    for parts in ["1", "4"] {
        let run = bench.trained(parts, &["-s", &format!("train.accumulation={parts}")]);
        Linear::read(&run, 4).assert_near(&wanted);
    }
    wanted.assert_far(&(0..4).fold(initial(), |weights, _| weights.step()));
}

#[test]
fn lookahead_moves_slow_weights_every_k_steps_and_resumes_between_them() {
    let slow = |from: &Linear| from.plus(&from.step().step().step().plus(from, -1.0), 0.25);
    let wanted = slow(&slow(&initial()));
    let bench = bench(&hook("Lookahead", "k = 3\nalpha = 0.25"));
    let run = bench.trained("run", &["-s", "train.max_epochs=6"]);
    Linear::read(&run, 6).assert_near(&wanted);
    // Cut off one step after the slow weights have moved: those of the checkpoint are taken up, not new ones.
    let cut = bench.trained("cut", &["-s", "train.max_epochs=4"]);
    let more = ["train", "config.toml", "--resume", "--run-dir", "cut", "-s", "train.max_epochs=6"];
    bench.run(more).expect(0);
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
    let run = bench.trained("clipped", &["-s", "train.clip_grad_norm=0.1"]);
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
    let run = bench.trained("run", &["-s", "train.accumulation=2", "-s", "train.max_epochs=8"]);
    let mixed: Vec<f64> =
        run.scalars().iter().filter_map(|line| line["hook/MixSpy/mixed"].as_f64()).collect();
    assert!(mixed.iter().any(|rows| *rows > 0.0), "some rows are of two classes: {mixed:?}");
}

#[test]
fn activation_norms_are_those_of_the_layer_and_come_for_every_model() {
    let norms = hook("ActivationNorms", "");
    let linear = bench(&norms);
    let run = linear.trained("run", &["-s", "optimizer.lr=0"]);
    let weights = initial();
    let scores = SAMPLES.iter().flat_map(|(features, _)| weights.scores(*features));
    let wanted = scores.map(|score| score * score).sum::<f64>().sqrt();
    let found = run.scalar("hook/ActivationNorms/layers.0");
    assert!((found - wanted).abs() < 1e-5 * wanted, "{found}, not {wanted}");

    let images =
        "[data.train]\ntype = \"Synthetic\"\nsamples = 8\nshape = [1, 16, 16]\nclasses = 3\n";
    let text = "[data.train]\ntype = \"Text\"\npath = \"text.txt\"\ncontext = 4\n";
    for (model, data, layers) in [
        ("type = \"LeNet\"", images, vec!["conv2", "fc3"]),
        (
            "type = \"ResNet\"\nwidth = 4\nstem = \"cifar\"",
            images,
            vec!["layer2.0.downsample.1", "layer4", "layer1.1.bn2", "avgpool"],
        ),
        (
            "type = \"GPT\"\nlayers = 1\nheads = 1\nwidth = 4",
            text,
            vec!["transformer.h.0.attn", "transformer.h.0.mlp.c_fc", "lm_head"],
        ),
        (
            "type = \"Sequential\"\nlayers = [{ type = \"flatten\" }, { type = \"linear\" }]",
            images,
            vec!["layers.0", "layers.1"],
        ),
    ] {
        let bench = bench(&norms);
        bench.write("text.txt", &"to be or not to be, ".repeat(3));
        let config = bench.read("config.toml");
        let (head, rest) = config.split_once("[model]").unwrap();
        let (_, tail) = rest.split_once("[loss]").unwrap();
        bench.write("config.toml", &format!("{head}[model]\n{model}\n{data}[loss]{tail}"));
        let run = bench.trained("run", &["-s", "train.max_iters=2"]);
        for layer in layers {
            let norm = run.scalar(&format!("hook/ActivationNorms/{layer}"));
            assert!(norm.is_finite() && norm > 0.0, "{model}: {layer}: {norm}");
        }
    }
}

#[test]
fn layers_that_are_not_there_or_cannot_be_seen_are_told() {
    let misnamed = bench(&hook("ActivationNorms", "layers = \"layer.0\""));
    misnamed.run(["check", "config.toml"]).expect(2).says(&[
        "hook `ActivationNorms` (libactivation_norms.so) failed at on_attach",
        "no layer is named `layer.0`: the nearest are `layers.0`",
    ]);
    let bench = bench(&hook("ActivationNorms", ""));
    bench.run(["check", "config.toml", "-s", "train.mode=graph"]).expect(2).says(&[
        "failed at on_attach",
        "this model does not give the outputs of its layers: TorchScript and `train.mode = \"graph\"` run as one graph",
    ]);
}

#[test]
fn distillation_steps_by_the_gradient_towards_the_teacher_and_its_loss_falls() {
    let school = bench("");
    let teacher = school.trained("teacher", &["-s", "train.max_epochs=40", "-s", "train.seed=5"]);
    let known = Linear::read(&teacher, 40);
    let soft = |model: &Linear, features| {
        let scores: Vec<f64> = model.scores(features).iter().map(|s| (s / 3.0).exp()).collect();
        scores.iter().map(|score| score / scores.iter().sum::<f64>()).collect::<Vec<f64>>()
    };
    // The gradient of T² KL(teacher ‖ student) by a score is T (p - q) for each sample.
    let step = |weights: &Linear| {
        let mut gradient = Linear { rows: vec![[0.0; FEATURES + 1]; CLASSES] };
        for (features, _) in SAMPLES {
            let (own, wanted) = (soft(weights, features), soft(&known, features));
            for class in 0..CLASSES {
                for i in 0..=FEATURES {
                    let x = features.get(i).unwrap_or(&1.0);
                    gradient.rows[class][i] += 3.0 * (own[class] - wanted[class]) / 6.0 * x;
                }
            }
        }
        weights.plus(&gradient, -0.5)
    };
    let weights = teacher.path.join("checkpoints/iter_0000040/model.safetensors");
    let table = format!(
        "temperature = 3.0\nalpha = 1.0\nteacher = {{ type = \"MLP\", hidden = [], weights = \"{}\" }}",
        weights.display()
    );
    let bench = bench(&hook("Distillation", &table));
    let run = bench.trained("run", &["-s", "default_hooks.logger={interval=1}"]);
    let wanted = (0..4).fold(initial(), |weights, _| step(&weights));
    Linear::read(&run, 4).assert_near(&wanted);
    let losses: Vec<f64> =
        run.scalars().iter().filter_map(|line| line["train/loss"].as_f64()).collect();
    assert!(losses.windows(2).all(|pair| pair[1] < pair[0]) && losses.len() > 2, "{losses:?}");
}

#[test]
fn a_teacher_that_cannot_be_built_is_found_before_training() {
    for (teacher, says) in [
        ("{ type = \"MPL\" }", "`MPL`"),
        (
            "{ type = \"MLP\", hidden = [], weights = \"nowhere.safetensors\" }",
            "nowhere.safetensors",
        ),
        ("{ type = \"MLP\", width = 3 }", "width"),
        ("3", "a model is a table with its `type`, found: integer"),
    ] {
        let bench = bench(&hook("Distillation", &format!("teacher = {teacher}")));
        let ran = bench.run(["check", "config.toml"]);
        ran.expect(2).says(&["hook `Distillation` (libdistillation.so) failed at on_attach", says]);
    }
}

/// Lines of code of a file: no blank ones, comments, docs or tests.
fn code_lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    let counts = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//") && !line.starts_with("# ")
    };
    code.lines().filter(counts).count()
}

#[test]
fn the_lines_of_each_example_are_counted_beside_lightning_s() {
    let folder = repository().join("examples/plugins");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let rust = code_lines(&entry.path().join("src/lib.rs"));
            let python = code_lines(&entry.path().join("lightning.py"));
            let row = format!("| `{name}` | {rust} | {python} |");
            assert!(readme.contains(&row), "README.md lacks {row}");
        }
    }
}

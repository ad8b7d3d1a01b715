//! `ActivationNorms`: outputs of layers by name.

use super::linear::{SAMPLES, initial};
use super::{bench, hook};
use crate::workshop::repository;

#[test]
fn activation_norms_are_those_of_the_layer_and_come_for_every_model() {
    let norms = hook("ActivationNorms", "");
    let linear = bench(&norms);
    let run = linear.trained("run", &["optimizer.lr=0"]);
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
        let run = bench.trained("run", &["train.max_iters=2"]);
        for layer in layers {
            let norm = run.scalar(&format!("hook/ActivationNorms/{layer}"));
            assert!(norm.is_finite() && norm > 0.0, "{model}: {layer}: {norm}");
        }
    }
}

#[test]
fn layers_that_are_not_there_or_cannot_be_seen_are_reported() {
    let misnamed = bench(&hook("ActivationNorms", "layers = 'layer.0'"));
    misnamed.check(&[]).expect(2).says(&[
        "hook `ActivationNorms` (libactivation_norms.so) failed at on_attach",
        "no layer is named `layer.0`: the nearest are `layers.0`",
    ]);
    let bench = bench(&hook("ActivationNorms", ""));
    bench.check(&["train.mode=graph"]).expect(2).says(&[
        "failed at on_attach",
        "this model does not provide layer outputs: TorchScript and `train.mode = \"graph\"` run as one graph",
    ]);
    let scripted = repository().join("configs/models/digits_cnn.pt");
    let model = format!("type = \"TorchScript\"\npath = \"{}\"", scripted.display());
    bench.replace("type = \"MLP\"\nhidden = []", &model);
    let csv = "type = \"Csv\"\npath = \"data.csv\"\nlabel = \"label\"";
    bench.replace(csv, "type = \"Digits\"");
    let says = [
        "hook `ActivationNorms` (libactivation_norms.so) failed at on_attach",
        "this model does not provide layer outputs: TorchScript and `train.mode = \"graph\"` run as one graph",
    ];
    bench.check(&[]).expect(2).says(&says);
    let (ran, _) = bench.train("run", &["custom_hooks.0.on_error=abort"]);
    ran.expect(4).says(&says);
}

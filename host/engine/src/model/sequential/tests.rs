//! Shapes that do not match are reported with their layer and both shapes.

use super::*;
use crate::model::MODELS;
use crate::registry::{Build as _, Choice};
use tch::{Device, Kind};

fn build(layers: &str, input: &[i64], target: Target) -> Result<Box<dyn Model>> {
    let Tree(layers) = serde_json::from_str(layers).unwrap();
    let data = DataSpec { input: input.to_vec(), target };
    let context = ModelContext::new(data, Device::Cpu);
    Choice::new("Sequential", &[("layers", layers)]).build(MODELS, &context)
}

#[test]
fn layers_that_do_not_fit_name_their_place_and_both_shapes() {
    let conv = r#"{"type": "conv", "outputs": 6}"#;
    for (layers, wanted) in [
        (
            r#"[{"type": "flatten"}, {"type": "conv", "outputs": 6}]"#.to_owned(),
            "layers.1 (conv): it expects images [channels, rows, columns], found shape [192]",
        ),
        (
            r#"[{"type": "flatten"}, {"type": "linear", "inputs": 100}]"#.to_owned(),
            "layers.1 (linear): it expects shape [.., 100], found shape [192]",
        ),
        (
            format!(r#"[{conv}, {{"type": "conv", "inputs": 3, "outputs": 6}}]"#),
            "layers.1 (conv): it expects shape [3, .., ..], found shape [6, 6, 6]",
        ),
        (
            r#"[{"type": "conv", "outputs": 6, "kernel": 9}]"#.to_owned(),
            "layers.0 (conv): a kernel of 9x9 with padding 0 does not fit into shape [3, 8, 8]",
        ),
        (
            format!("[{conv}]"),
            "layers.0 (conv): the last layer gives shape [6, 6, 6], but the data needs [10]",
        ),
        (
            format!(r#"[{{"type": "residual", "layers": [{conv}]}}]"#),
            "layers.0 (residual): its layers turn shape [3, 8, 8] into [6, 6, 6], which cannot be added: set \
             projection = true",
        ),
        (
            r#"[{"type": "residual", "layers": [{"type": "flatten"}, {"type": "attention"}]}]"#
                .to_owned(),
            "layers.0.layers.1 (attention): it expects rows [positions, width], found shape [192]",
        ),
        (
            r#"[{"type": "norm", "kind": "group", "groups": 2}]"#.to_owned(),
            "layers.0 (norm): groups = 2 must divide the 3 channels of shape [3, 8, 8]",
        ),
        (
            r#"[{"type": "embedding", "width": 4}]"#.to_owned(),
            "layers.0 (embedding): it expects tokens, found numbers of shape [3, 8, 8]",
        ),
        (
            r#"[{"type": "cnv", "outputs": 6}]"#.to_owned(),
            "layers.0 (cnv): no layer is named `cnv`: did you mean `conv`?",
        ),
        (
            r#"[{"type": "dropout", "share": 2}]"#.to_owned(),
            "layers.0 (dropout): share = 2 is more than 1",
        ),
        (r#"[{"outputs": 6}]"#.to_owned(), "layers.0 (layer): missing `type`, the name of a layer"),
        ("[]".to_owned(), "model `Sequential`: layers is empty: add at least one"),
    ] {
        let error = build(&layers, &[3, 8, 8], Target::Classes(10)).err().unwrap();
        assert_eq!(error.to_string(), wanted, "{layers}");
    }
}

#[test]
fn tokens_need_an_embedding_first() {
    let error = build(r#"[{"type": "linear"}]"#, &[7], Target::Tokens(5)).err().unwrap();
    assert_eq!(
        error.to_string(),
        "layers.0 (linear): it expects numbers, found tokens of shape [7]: put an embedding before it"
    );
    let layers = r#"[{"type": "embedding", "width": 4}, {"type": "linear"}]"#;
    let model = build(layers, &[7], Target::Tokens(5)).unwrap();
    assert_eq!(model.output_shape(), [7, 5]);
    let short = Tensor::zeros([2, 3], (Kind::Int64, Device::Cpu));
    assert_eq!(model.forward(&short, Mode::Eval).unwrap().size(), [2, 3, 5]);
}

#[test]
fn a_projection_gives_the_shortcut_the_shape_of_the_layers() {
    let layers = r#"[
        {"type": "residual", "projection": true, "layers": [{"type": "conv", "outputs": 4, "stride": 2, "padding": 1}]},
        {"type": "pool", "kind": "global"},
        {"type": "residual", "projection": true, "layers": [{"type": "linear"}]}
    ]"#;
    let model = build(layers, &[3, 7, 7], Target::Classes(2)).unwrap();
    let names: Vec<_> = model.params().iter().map(|p| (p.name.as_str(), p.tensor.size())).collect();
    assert_eq!(names[2], ("layers.0.projection.weight", vec![4, 3, 1, 1]));
    assert_eq!(names[5], ("layers.2.projection.weight", vec![2, 4]));
    let input = Tensor::zeros([2, 3, 7, 7], (Kind::Float, Device::Cpu));
    assert_eq!(model.forward(&input, Mode::Eval).unwrap().size(), [2, 2]);
}

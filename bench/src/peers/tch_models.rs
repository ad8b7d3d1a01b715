//! The models of the peers, written with tch's own layers.

use super::model::Model;
use tch::Tensor;
use tch::nn::{self, ModuleT};

/// The model, with its parameters below `root`.
pub(super) fn net(model: &Model, root: &nn::Path<'_>) -> Box<dyn ModuleT> {
    match model.name {
        "cnn" => Box::new(cnn(root)),
        "resnet18" => Box::new(resnet18(root, 16)),
        "gpt" => Box::new(Gpt::new(root)),
        _ => Box::new(mlp(root)),
    }
}

fn linear(path: nn::Path<'_>, inputs: i64, outputs: i64) -> nn::Linear {
    nn::linear(path, inputs, outputs, nn::LinearConfig::default())
}

fn mlp(root: &nn::Path<'_>) -> nn::SequentialT {
    nn::seq_t()
        .add_fn(|x| x.flatten(1, -1))
        .add(linear(root / "fc1", 784, 64))
        .add_fn(Tensor::relu)
        .add(linear(root / "fc2", 64, 10))
}

fn cnn(root: &nn::Path<'_>) -> nn::SequentialT {
    let padded = nn::ConvConfig { padding: 2, ..nn::ConvConfig::default() };
    nn::seq_t()
        .add(nn::conv2d(root / "conv1", 1, 16, 5, padded))
        .add_fn(|x| x.relu().max_pool2d_default(2))
        .add(nn::conv2d(root / "conv2", 16, 32, 5, padded))
        .add_fn(|x| x.relu().max_pool2d_default(2).flatten(1, -1))
        .add(linear(root / "fc1", 32 * 7 * 7, 128))
        .add_fn(Tensor::relu)
        .add(linear(root / "fc2", 128, 10))
}

fn conv(path: nn::Path<'_>, inputs: i64, outputs: i64, kernel: i64, stride: i64) -> nn::Conv2D {
    let config =
        nn::ConvConfig { stride, padding: kernel / 2, bias: false, ..nn::ConvConfig::default() };
    nn::conv2d(path, inputs, outputs, kernel, config)
}

fn norm(path: nn::Path<'_>, width: i64) -> nn::BatchNorm {
    nn::batch_norm2d(path, width, nn::BatchNormConfig::default())
}

/// As in tch's own examples of a ResNet.
fn basic_block(path: &nn::Path<'_>, inputs: i64, width: i64, stride: i64) -> impl ModuleT + use<> {
    let conv1 = conv(path / "conv1", inputs, width, 3, stride);
    let bn1 = norm(path / "bn1", width);
    let conv2 = conv(path / "conv2", width, width, 3, 1);
    let bn2 = norm(path / "bn2", width);
    let mut downsample = nn::seq_t();
    if stride != 1 || inputs != width {
        downsample = downsample
            .add(conv(path / "downsample" / 0, inputs, width, 1, stride))
            .add(norm(path / "downsample" / 1, width));
    }
    nn::func_t(move |x, train| {
        let out = x.apply(&conv1).apply_t(&bn1, train).relu();
        let out = out.apply(&conv2).apply_t(&bn2, train);
        (x.apply_t(&downsample, train) + out).relu()
    })
}

fn resnet18(root: &nn::Path<'_>, width: i64) -> nn::SequentialT {
    let mut net = nn::seq_t()
        .add(conv(root / "conv1", 1, width, 3, 1))
        .add(norm(root / "bn1", width))
        .add_fn(Tensor::relu);
    let mut inputs = width;
    for group in 0..4 {
        for index in 0..2 {
            let outputs = width << group;
            let stride = if group > 0 && index == 0 { 2 } else { 1 };
            let path = root / format!("layer{group}") / index;
            net = net.add(basic_block(&path, inputs, outputs, stride));
            inputs = outputs;
        }
    }
    net.add_fn(|x| x.adaptive_avg_pool2d([1, 1]).flatten(1, -1)).add(linear(
        root / "fc",
        inputs,
        10,
    ))
}

const LAYERS: usize = 4;
const HEADS: i64 = 4;
const WIDTH: i64 = 128;
const PLACES: i64 = 128;

/// A GPT whose head shares the embedding.
#[derive(Debug)]
struct Gpt {
    tokens: nn::Embedding,
    places: Tensor,
    blocks: nn::SequentialT,
    norm: nn::LayerNorm,
}

impl Gpt {
    fn new(root: &nn::Path<'_>) -> Self {
        let small = nn::Init::Randn { mean: 0.0, stdev: 0.02 };
        let config = nn::EmbeddingConfig { ws_init: small, ..nn::EmbeddingConfig::default() };
        let mut blocks = nn::seq_t();
        for layer in 0..LAYERS {
            blocks = blocks.add(block(&(root / format!("block{layer}"))));
        }
        Self {
            tokens: nn::embedding(root / "wte", 256, WIDTH, config),
            places: root.var("wpe", &[PLACES, WIDTH], small),
            blocks,
            norm: layer_norm(root / "ln_f"),
        }
    }
}

impl ModuleT for Gpt {
    fn forward_t(&self, tokens: &Tensor, train: bool) -> Tensor {
        let x = tokens.apply(&self.tokens) + &self.places;
        let x = x.apply_t(&self.blocks, train).apply(&self.norm);
        x.linear::<Tensor>(&self.tokens.ws, None)
    }
}

fn layer_norm(path: nn::Path<'_>) -> nn::LayerNorm {
    nn::layer_norm(path, vec![WIDTH], nn::LayerNormConfig::default())
}

fn block(path: &nn::Path<'_>) -> impl ModuleT + use<> {
    let (ln_1, ln_2) = (layer_norm(path / "ln_1"), layer_norm(path / "ln_2"));
    let (attn, proj) =
        (linear(path / "c_attn", WIDTH, 3 * WIDTH), linear(path / "c_proj", WIDTH, WIDTH));
    let (fc, out) =
        (linear(path / "c_fc", WIDTH, 4 * WIDTH), linear(path / "c_out", 4 * WIDTH, WIDTH));
    nn::func_t(move |x, _train| {
        let (batch, places, width) = x.size3().unwrap_or_default();
        let parts = x.apply(&ln_1).apply(&attn).split(width, -1);
        let heads =
            |part: &Tensor| part.view([batch, places, HEADS, width / HEADS]).transpose(1, 2);
        let (q, k, v) = (heads(&parts[0]), heads(&parts[1]), heads(&parts[2]));
        let mixed = Tensor::scaled_dot_product_attention::<Tensor>(
            &q, &k, &v, None, 0.0, true, None, false,
        );
        let x = x + mixed.transpose(1, 2).reshape([batch, places, width]).apply(&proj);
        let inner = x.apply(&ln_2).apply(&fc).gelu("tanh").apply(&out);
        x + inner
    })
}

//! A hand-written training loop with tch alone, in a process of its own: what a Rust user would write instead of hookrack.

use super::model::{self, Model};
use crate::error::BenchError;
use crate::subjects::workspace;
use clap::Args;
use hookrack::job::Job;
use hookrack::train::Parts;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tch::nn::{self, ModuleT, OptimizerConfig};
use tch::{Device, Tensor};

/// What the loop is told, as the peers in Python are.
#[derive(Args)]
pub(crate) struct ByTchArgs {
    #[arg(long, value_parser = model::named)]
    model: &'static Model,
    #[arg(long)]
    steps: usize,
    #[arg(long)]
    warmup: usize,
    #[arg(long)]
    images: PathBuf,
    #[arg(long)]
    text: PathBuf,
    #[arg(long)]
    folder: PathBuf,
    /// When this process was started, in seconds since 1970
    #[arg(long)]
    started: f64,
}

/// Trains, and returns the figures as a line of JSON.
#[expect(clippy::cast_precision_loss, reason = "few steps")]
pub(crate) fn run(args: &ByTchArgs) -> Result<String, BenchError> {
    tch::set_num_threads(1);
    tch::manual_seed(1);
    let (inputs, labels) = data(args)?;
    let variables = nn::VarStore::new(Device::Cpu);
    let net = net(args.model, &variables.root());
    let mut optimizer = if args.model.is_text {
        let adamw = nn::AdamW { beta2: 0.95, wd: 0.1, ..nn::AdamW::default() };
        adamw.build(&variables, 1e-3)?
    } else {
        nn::Sgd { momentum: 0.9, ..nn::Sgd::default() }.build(&variables, 0.01)?
    };
    let batch = i64::try_from(args.model.batch).unwrap_or(i64::MAX);
    let batches = (inputs.size()[0] / batch).max(1);
    let (mut log, mut first, mut last) = (String::new(), f64::NAN, f64::NAN);
    let mut began = Instant::now();
    for step in 1..=args.warmup + args.steps {
        let row = i64::try_from(step - 1).unwrap_or(0) % batches * batch;
        let (input, label) = (inputs.narrow(0, row, batch), labels.narrow(0, row, batch));
        let output = net.forward_t(&input, true);
        let output = output.view([-1, output.size()[output.dim() - 1]]);
        let loss = output.cross_entropy_for_logits(&label.flatten(0, -1));
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        if step % 20 == 0 || step == args.warmup + args.steps {
            last = loss.double_value(&[]);
            let _ = writeln!(log, "{}", json!({ "iter": step, "train/loss": last }));
        }
        if step == 1 {
            first = now() - args.started;
        }
        if step == args.warmup {
            began = Instant::now();
        }
    }
    let speed = args.steps as f64 / began.elapsed().as_secs_f64();
    let path = args.folder.join("log.jsonl");
    fs::write(&path, log).map_err(BenchError::file(&path))?;
    if !last.is_finite() {
        return Err(BenchError::Ending(format!("the loss is {last}")));
    }
    let figures =
        json!({ "steps_per_second": speed, "first_step": first, "loss": last, "versions": {} });
    Ok(figures.to_string())
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// All samples that are used, in memory, in the order of the files.
fn data(args: &ByTchArgs) -> Result<(Tensor, Tensor), BenchError> {
    let model = args.model;
    let (key, path) = if model.is_text { ("path", &args.text) } else { ("dir", &args.images) };
    let overrides = [
        format!("data.train.{key}='{}'", path.display()),
        format!("data.train.first={}", model.batch * model.epoch),
        // What is measured is tch: the allocator stays as it is.
        "train.keep_memory=false".to_owned(),
        "train.memory_format=\"contiguous\"".to_owned(),
    ];
    let config = workspace().join(format!("bench/peers/{}.toml", model.name));
    let job = Job::load(&config, &overrides)?;
    let Parts { loaders, .. } = Parts::build(&job.config)?;
    let dataset = loaders.train.dataset();
    let all: Vec<usize> = (0..dataset.len()).collect();
    let batch = dataset.batch(&all)?;
    Ok((batch.input, batch.label))
}

fn net(model: &Model, root: &nn::Path<'_>) -> Box<dyn ModuleT> {
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

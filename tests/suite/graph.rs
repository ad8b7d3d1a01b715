//! `train.mode = "graph"`: the same numbers as eagerly, for every built-in model.

use crate::workbench::Bench;
use crate::workshop::repository;

/// A hundred steps and an evaluation; the last batch of an epoch is smaller than the others.
fn losses(bench: &Bench, mode: &str) -> Vec<(String, f64)> {
    let set = format!("train.mode={mode}");
    let run = bench.trained(mode, &[&set, "default_hooks.logger.interval=1"]);
    let lines = run.scalars();
    let named = lines.iter().flat_map(|line| {
        let value = |name: &str| Some((name.to_owned(), line.get(name)?.as_f64()?));
        ["train/loss", "val/loss"].into_iter().filter_map(value).collect::<Vec<_>>()
    });
    named.collect()
}

#[track_caller]
fn graph_equals_eager(model_and_data: &str) {
    graph_equals_eager_in("fp32", model_and_data);
}

#[track_caller]
fn graph_equals_eager_in(precision: &str, model_and_data: &str) {
    let bench = Bench::bare();
    let rest = "[optimizer]\ntype = \"AdamW\"\nlr = 0.002\n\
                [train]\nmax_iters = 100\nbatch_size = 60\nthreads = 1\nseed = 3\n";
    let rest = format!("{rest}precision = \"{precision}\"\n");
    bench.write("config.toml", &format!("[plugins]\ndirs = [\"plugins\"]\n{model_and_data}{rest}"));
    let (eager, graph) = (losses(&bench, "eager"), losses(&bench, "graph"));
    let steps = eager.iter().filter(|(name, _)| name == "train/loss").count();
    assert!(steps == 100 && eager.len() > 100, "{steps} steps, {} values", eager.len());
    assert_eq!(eager.len(), graph.len());
    for (step, ((name, eager), (_, graph))) in eager.iter().zip(&graph).enumerate() {
        let far = (eager - graph).abs() > 1e-6 * eager.abs().max(1.0);
        assert!(!far, "{name}, line {step}: {eager} eagerly, {graph} as a graph");
    }
}

const DIGITS: &str = "[data.train]\ntype = \"Digits\"\n[data.val]\ntype = \"Digits\"\nsplit = \"val\"\n\
                      [loss]\ntype = \"CrossEntropy\"\n";

#[test]
fn an_mlp_with_dropout_learns_the_same_as_a_graph() {
    let model = "[model]\ntype = \"MLP\"\nhidden = [32, 32]\ndropout = 0.2\n";
    graph_equals_eager(&format!("{model}{DIGITS}"));
}

#[test]
fn a_lenet_with_dropout_learns_the_same_as_a_graph() {
    let model =
        "[model]\ntype = \"LeNet\"\nkernel = 3\npadding = 1\nhidden = [32]\ndropout = 0.1\n";
    graph_equals_eager(&format!("{model}{DIGITS}"));
}

#[test]
fn a_resnet_learns_the_same_as_a_graph() {
    let model = "[model]\ntype = \"ResNet\"\nstem = \"cifar\"\nwidth = 4\n";
    graph_equals_eager(&format!("{model}{DIGITS}"));
}

#[test]
fn a_silu_is_the_same_function_in_a_graph() {
    let model = "[model]\ntype = \"MLP\"\nhidden = [32]\nactivation = \"silu\"\n";
    graph_equals_eager(&format!("{model}{DIGITS}"));
}

#[test]
fn a_graph_computes_in_sixteen_bits_what_the_model_does() {
    let mlp = "[model]\ntype = \"MLP\"\nhidden = [32]\n";
    for precision in ["bf16", "fp16"] {
        graph_equals_eager_in(precision, &format!("{mlp}{DIGITS}"));
        graph_equals_eager_in(precision, &gpt("layers = 1\nheads = 2\nwidth = 16\n"));
    }
}

#[test]
fn a_gpt_with_dropout_learns_the_same_as_a_graph() {
    graph_equals_eager(&gpt("layers = 2\nheads = 2\nwidth = 32\ndropout = 0.1\n"));
}

fn gpt(settings: &str) -> String {
    let text = repository().join("docs/config.md");
    let data = |split: &str| {
        format!(
            "[data.{split}]\ntype = \"Text\"\npath = \"{}\"\nsplit = \"{split}\"\ncontext = 16\n",
            text.display()
        )
    };
    let model = format!("[model]\ntype = \"GPT\"\n{settings}[loss]\ntype = \"CrossEntropy\"\n");
    format!("{model}{}{}", data("train"), data("val"))
}

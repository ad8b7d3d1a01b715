//! The EMA plugin through the program: turned on by a config entry, evaluated with, swapped back, saved, exported.

use crate::workbench::{Bench, RunFolder, TINY};
use crate::workshop::repository;
use std::collections::HashMap;

const EMA: &str = "[[custom_hooks]]\ntype = \"EMAIterHook\"\nlibrary = \"libema.so\"\nmomentum = 0.9\nwarmup = false\n";

/// Real data, so that averaged weights evaluate otherwise.
fn digits(more: &str) -> Bench {
    let bench = Bench::bare();
    let split = |name: &str, split: &str| {
        format!("[data.{name}]\ntype = \"Digits\"\nsplit = \"{split}\"\n")
    };
    let data = [split("train", "train"), split("val", "val"), split("test", "val")].concat();
    let (head, rest) = TINY.split_once("[data.train]").unwrap();
    let tail = &rest[rest.find("[loss]").unwrap()..];
    let tail =
        tail.replace("batch_size = 4", "batch_size = 128").replace("AdamW\"", "AdamW\"\nlr = 0.01");
    bench.write("config.toml", &format!("{head}{data}{tail}{more}"));
    bench
}

/// The last checkpoint's file.
fn last(file: &str) -> String {
    format!("checkpoints/iter_0000024/{file}")
}

#[test]
fn the_quickstart_learns_the_digits_with_the_average_on() {
    let bench = Bench::bare();
    let config = repository().join("configs/quickstart.toml");
    let dirs = format!("plugins.dirs=[\"{}\"]", bench.path("plugins").display());
    let config = config.to_str().unwrap();
    bench.run(["train", config, "--run-dir", "run", &dirs]).expect(0);
    let run = bench.folder("run");
    assert!(run.scalar("val/Accuracy") >= 0.95, "{}", run.record()["metrics"]);
    assert_eq!(run.record()["plugins"][0]["name"], "ema");
}

#[test]
fn turning_it_on_changes_what_is_evaluated_and_not_what_is_trained() {
    let benches = [digits(""), digits(EMA)];
    let [without, with] = benches.each_ref().map(|bench| bench.trained("run", &[]));
    let model = last("model.safetensors");
    assert_eq!(without.tensors(&model), with.tensors(&model), "the weights were not swapped back");
    for name in ["val/loss", "val/Accuracy"] {
        let (plain, averaged) = (without.scalar(name), with.scalar(name));
        assert!((plain - averaged).abs() > 1e-3, "{name} is {plain} with and without the average");
    }
    let losses = |run: &RunFolder| run.scalar("train/loss");
    assert!((losses(&without) - losses(&with)).abs() < 1e-12);
}

#[test]
fn the_average_is_in_the_checkpoint_and_in_a_file_of_its_own() {
    let bench = digits(EMA);
    let run = bench.trained("run", &[]);
    let (model, exported) =
        (run.tensors(&last("model.safetensors")), run.tensors("EMAIterHook.safetensors"));
    let mut names: Vec<_> = model.keys().collect();
    names.sort();
    let mut averaged: Vec<_> = exported.keys().collect();
    averaged.sort();
    assert_eq!(names, averaged);
    assert!(
        names.iter().all(|name| model[*name] != exported[*name]),
        "an average is the model's own weight"
    );
    let saved = run.tensors(&last("hooks.safetensors"));
    for (name, values) in &exported {
        assert_eq!(&saved[&format!("EMAIterHook/average.{name}")], values);
    }
}

#[test]
fn eval_uses_the_average_of_the_checkpoint() {
    let bench = digits(EMA);
    let run = bench.trained("run", &[]);
    let line = |accuracy: f64, loss: f64| format!("test  Accuracy {accuracy:.4}  loss {loss:.4}");
    let expected = line(run.scalar("val/Accuracy"), run.scalar("val/loss"));
    bench.run(["eval", "config.toml", "--checkpoint", "run"]).expect(0).prints(&[&expected]);
    let own =
        bench.run(["eval", "config.toml", "--checkpoint", "run", "custom_hooks.0.evaluate=false"]);
    assert!(!own.expect(0).stdout.contains(&expected), "the model's own weights evaluate the same");
}

#[test]
fn an_invalid_momentum_is_refused_at_its_line() {
    let bench = digits(EMA);
    let ran = bench.check(&["custom_hooks.0.momentum=2"]);
    ran.expect(2).says(&["momentum"]);
}

/// The weights after each of the run's iterations, the first one first.
fn weights(run: &RunFolder) -> Vec<HashMap<String, Vec<f32>>> {
    run.checkpoints()
        .iter()
        .map(|name| run.tensors(&format!("checkpoints/{name}/model.safetensors")))
        .collect()
}

/// The average of weights by hand: the first ones, then a step towards each of the others.
fn averaged(weights: &[HashMap<String, Vec<f32>>], momentum: f32) -> HashMap<String, Vec<f32>> {
    let mut average = weights[0].clone();
    for next in &weights[1..] {
        for (name, values) in &mut average {
            for (value, target) in values.iter_mut().zip(&next[name]) {
                *value += (target - *value) * (1.0 - momentum);
            }
        }
    }
    average
}

#[test]
fn the_average_is_the_one_of_the_weights_after_each_iteration_or_epoch() {
    for (hook, every) in [("EMAIterHook", 1), ("EMAEpochHook", 2)] {
        let bench = Bench::new(&format!(
            "[[custom_hooks]]\ntype = \"{hook}\"\nmomentum = 0.75\nwarmup = false\n\
             [default_hooks.checkpoint]\niter_period = 1\n"
        ));
        let run = bench.trained("run", &["train.max_epochs=4"]);
        let seen: Vec<_> = weights(&run).into_iter().skip(every - 1).step_by(every).collect();
        assert_eq!(seen.len(), 8 / every);
        let exported = run.tensors(&format!("{hook}.safetensors"));
        for (name, expected) in averaged(&seen, 0.75) {
            for (found, expected) in exported[&name].iter().zip(expected) {
                assert!(
                    (found - expected).abs() < 1e-6,
                    "{hook}, {name}: {found}, by hand {expected}"
                );
            }
        }
    }
}

//! Configs as a user writes them: the shipped ones resolve, values know where they come from, a run's own config
//! repeats the run, and the schema knows the plugins.

use crate::bad_configs::configs;
use crate::workbench::{Bench, RunFolder, hook, run_in};
use crate::workshop::repository;
use serde_json::Value as Json;
use std::fs;

#[test]
fn every_shipped_config_resolves() {
    let bench = Bench::bare();
    let files = configs(&repository().join("configs"));
    assert!(!files.is_empty());
    for file in files {
        let dirs = format!("plugins.dirs=[\"{}\"]", bench.path("plugins").display());
        // Data that must be got first need not be here.
        let text = fs::read_to_string(&file).unwrap();
        let needs_data =
            ["cargo xtask data", "apt-get install"].iter().any(|how| text.contains(how));
        let command = if needs_data { "config" } else { "check" };
        run_in(&bench.path(""), [command.as_ref(), file.as_os_str(), dirs.as_ref()]).expect(0);
    }
}

#[test]
fn the_small_configs_train_to_what_they_are_there_for() {
    let bench = Bench::bare();
    let dirs = format!("plugins.dirs=[\"{}\"]", bench.path("plugins").display());
    for (config, scalar, wanted) in [
        ("quickstart", "val/Accuracy", 0.95..=1.0),
        ("torchscript", "val/Accuracy", 0.95..=1.0),
        ("every_scheduler", "val/loss", 0.0..=0.5),
        ("regression", "val/loss", 0.0..=0.1),
    ] {
        let file = repository().join(format!("configs/{config}.toml"));
        let run = bench.path(config);
        let args = ["train".as_ref(), file.as_os_str(), dirs.as_ref()];
        run_in(&bench.path(""), args.into_iter().chain(["--run-dir".as_ref(), run.as_os_str()]))
            .expect(0);
        let found = RunFolder { path: run }.scalar(scalar);
        assert!(wanted.contains(&found), "{config}: {scalar} is {found}");
    }
}

#[test]
fn every_schedule_that_every_scheduler_has_in_a_comment_is_one() {
    let bench = Bench::bare();
    let text = fs::read_to_string(repository().join("configs/every_scheduler.toml")).unwrap();
    let (before, after) = text.split_once("\n[lr_scheduler]\n").unwrap();
    let before = before.replace("_base_ =", "# _base_ =");
    let lines: Vec<_> = after.lines().filter_map(|line| line.strip_prefix("#   { ")).collect();
    assert!(lines.len() > 30, "{} schedules", lines.len());
    for line in lines {
        // Some have a remark behind them.
        let (settings, _) = line.rsplit_once('}').unwrap();
        let config = format!("lr_scheduler = {{ {settings}}}\n{before}");
        bench.write("config.toml", &config);
        bench.run(["config", "config.toml", "--plot-lr", "lr.svg"]).expect(0);
    }
}

#[test]
fn the_config_of_a_run_trains_to_the_same_weights_and_metrics_again() {
    let bench = Bench::new(&hook("EMAIterHook", "momentum = 0.5"));
    let first = bench.trained("first", &["train.accumulation=2", "optimizer.lr=0.01"]);
    fs::copy(first.path.join("config.toml"), bench.path("config.toml")).unwrap();
    let again = bench.trained("again", &[]);
    let model = "checkpoints/iter_0000004/model.safetensors";
    assert_eq!(
        fs::read(first.path.join(model)).unwrap(),
        fs::read(again.path.join(model)).unwrap()
    );
    assert_eq!(first.record()["metrics"], again.record()["metrics"]);
    assert_eq!(first.text("config.toml"), again.text("config.toml"));
}

#[test]
fn each_value_tells_whether_it_is_from_a_base_the_file_the_command_line_or_a_default() {
    let bench = Bench::new("");
    bench.write("base.toml", &bench.read("config.toml"));
    bench.write("config.toml", "_base_ = \"base.toml\"\n[optimizer]\nlr = 0.5\n");
    let ran = bench.run(["config", "config.toml", "train.seed=9"]);
    let origin = |key: &str| {
        let line = ran.stdout.lines().find(|line| line.split(' ').next() == Some(key));
        let line = line.unwrap_or_else(|| panic!("no {key} in\n{}", ran.stdout));
        let (value, origin) = line.split_once(" = ").unwrap().1.split_once("  # ").unwrap();
        (value.trim().to_owned(), origin.to_owned())
    };
    let line =
        bench.read("base.toml").lines().position(|line| line == "max_epochs = 2").unwrap() + 1;
    for (key, value, from) in [
        ("train.max_epochs", "2", format!("base.toml:{line}")),
        ("optimizer.lr", "0.5", "config.toml:3".to_owned()),
        ("optimizer.eps", "0.00000001", "default".to_owned()),
    ] {
        assert_eq!(origin(key), (value.to_owned(), from), "{key}");
    }
    let (value, from) = origin("train.seed");
    assert!(value == "9" && from.contains("-s"), "{value} {from}");
    ran.expect(0);
}

#[test]
fn what_config_prints_as_toml_is_a_config_that_means_the_same() {
    let bench = Bench::new(&hook("EMAIterHook", "level = 'low'"));
    let first = bench.run(["config", "config.toml", "--toml"]);
    bench.write("again.toml", &first.expect(0).stdout);
    let again = bench.run(["config", "again.toml", "--toml"]);
    assert_eq!(first.stdout, again.expect(0).stdout);
}

#[test]
fn the_schema_has_the_parameters_of_every_layer() {
    let ran = Bench::new("").run(["config", "--schema"]);
    let schema = ran.expect(0).json();
    let titled = |all: &Json, title: &str| {
        let found = all.as_array().unwrap().iter().find(|one| one["title"] == title);
        found.unwrap_or_else(|| panic!("no {title} in {all}")).clone()
    };
    let layers = &schema["$defs"]["layer"]["anyOf"];
    assert!(titled(layers, "conv")["properties"]["kernel"].is_object());
    let layer = serde_json::json!({ "$ref": "#/$defs/layer" });
    let model = titled(&schema["$defs"]["model"]["oneOf"], "Sequential");
    assert_eq!(model["properties"]["layers"]["items"], layer);
    assert_eq!(titled(layers, "residual")["properties"]["layers"]["items"], layer);
    let gpt = titled(&schema["$defs"]["model"]["oneOf"], "GPT");
    assert_eq!(gpt["properties"]["layers"]["type"], "integer");
}

#[test]
fn the_schema_has_the_parameters_of_the_plugins_hooks_and_metrics() {
    let bench = Bench::new("");
    let ran = bench.run(["config", "--schema"]);
    let schema = ran.expect(0).json();
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
    let text = schema.to_string();
    for part in [
        "EMAIterHook",
        "momentum",
        "Decay of the average: the fraction of it that is kept at each update.",
        "TopK",
        "GradNormC",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

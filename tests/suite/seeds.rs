//! The hook lists of the guides that hookrack grew out of, each as a config that runs, and what each leaves behind.

use crate::workbench::{Bench, RunFolder};
use crate::workshop::repository;
use std::fs;

/// Trains one of `configs/seeds/` with the bundled plugins, in the folder of the bench.
fn trained(bench: &Bench, name: &str) -> RunFolder {
    let config = repository().join("configs/seeds").join(name);
    let dirs = format!("plugins.dirs=[\"{}\"]", bench.path("plugins").display());
    bench.run(["train", config.to_str().unwrap(), "--run-dir", name, &dirs]).expect(0);
    bench.folder(name)
}

/// Where lines of the log with all of these words are.
fn lines(run: &RunFolder, words: &[&str]) -> Vec<String> {
    let log = run.text("log.txt");
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
    log.lines().filter(has_all).map(str::to_owned).collect()
}

/// The hooks that the plan has at a point, in their order.
fn planned(run: &RunFolder, point: &str) -> Vec<String> {
    let log = run.text("log.txt");
    let rows = log.lines().filter_map(|line| line.split_once("plan: ").map(|(_, row)| row));
    let mut hooks = Vec::new();
    let mut at = String::new();
    for row in rows.skip(1) {
        if !row.starts_with(' ') {
            row.split_whitespace().next().unwrap().clone_into(&mut at);
        }
        if at == point {
            let words: Vec<_> = row.trim_start_matches(&at).split("  ").collect();
            let words = words.iter().map(|word| word.trim()).filter(|word| !word.is_empty());
            // Level, hook, library.
            hooks.push(words.collect::<Vec<_>>().join(" "));
        }
    }
    hooks
}

#[test]
fn imix_s_custom_hooks_run_at_their_levels_between_its_defaults() {
    let bench = Bench::bare();
    let run = trained(&bench, "imix.toml");
    let order = planned(&run, "after_train_iter").join("\n");
    let place = |hook: &str| order.find(hook).unwrap_or_else(|| panic!("no {hook} in\n{order}"));
    assert!(place("IterationTimerHook") < place("EMAIterHook"), "{order}");
    assert!(place("EMAIterHook") < place("CheckPointHook"), "{order}");
    assert!(place("CheckPointHook") < place("PeriodicLogger"), "{order}");
    let order = planned(&run, "after_train_epoch").join("\n");
    assert!(order.contains("EMAEpochHook"), "{order}");

    // What its hooks log: loss, rate, times, gradient norm, and an evaluation after each epoch.
    for name in ["train/loss", "train/lr", "train/time", "train/data_time", "train/grad_norm"] {
        assert!(run.scalar(name).is_finite(), "{name}");
    }
    let evaluations = run.scalars().iter().filter(|line| line["val/loss"].is_f64()).count();
    assert_eq!(evaluations, 2);
    assert_eq!(lines(&run, &["IterationTimerHook", "per second"]).len(), 1);
    // Both averages are kept; the one that came first is evaluated with.
    for name in ["EMAIterHook", "EMAEpochHook"] {
        assert!(!run.tensors(&format!("{name}.safetensors")).is_empty());
    }
    assert_eq!(lines(&run, &["EMAEpochHook", "evaluates with its weights"]).len(), 1);
    assert_eq!(run.checkpoints().len(), 2);
    for name in run.checkpoints() {
        let named = name.replace("iter", "checkpoints/MLP_Digits");
        assert!(run.path.join(named).join("model.safetensors").is_file(), "{name}");
    }
    assert_eq!(run.text("training_status.json"), run.text("metrics.json"));
    // A line for each evaluation, where iMIX leaves it.
    assert_eq!(run.text("eval_result.json").lines().count(), 2);
}

#[test]
fn colossalai_s_eight_hooks_log_each_epoch_and_go_on_from_a_checkpoint() {
    let bench = Bench::bare();
    let first = trained(&bench, "colossalai_first.toml");
    // Every fifth epoch has a checkpoint, in the folder that the list names and where anybody would look.
    assert_eq!(first.checkpoints().len(), 4);
    let fifth = first.checkpoints().remove(0);
    assert!(bench.path("ckpt").join(&fifth).join("model.safetensors").is_file());

    let run = trained(&bench, "colossalai.toml");
    assert_eq!((run.record()["epoch"].as_u64(), run.checkpoints().len()), (Some(25), 5));
    // The epochs from 21 on, and each thing once for each.
    let by_metric = lines(&run, &["LogMetricByEpochHook", "val: "]);
    assert_eq!(by_metric.len(), 5, "{by_metric:?}");
    for (line, epoch) in by_metric.iter().zip(21..) {
        let has_all = ["loss = ", "Loss = ", "Accuracy = "].iter().all(|part| line.contains(part));
        assert!(has_all && line.contains(&format!("epoch {epoch}, val: ")), "{line}");
    }
    assert_eq!(lines(&run, &["LogTimingByEpochHook: epoch ", "train: "]).len(), 5);
    assert_eq!(
        lines(&run, &["LogMemoryByEpochHook: after ", "epoch 25"]).len(),
        2,
        "train and val"
    );
    assert!(run.scalar("val/Accuracy") > 0.9 && run.scalar("train/loss") < 0.5);
    let events: Vec<_> = fs::read_dir(run.path.join("tfb_logs")).unwrap().flatten().collect();
    assert_eq!(events.len(), 1, "{events:?}");
    let written = fs::read(events[0].path()).unwrap();
    let has = |name: &str| written.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(has("train/loss") && has("val/Accuracy"));
}

#[test]
fn libai_s_default_hooks_count_in_iterations() {
    let bench = Bench::bare();
    let run = trained(&bench, "libai.toml");
    // The writer writes every 20 iterations and at no other time, also where an epoch ends in between; the evaluation of an
    // iteration is in what it writes.
    let lines_of = run.scalars();
    let mut iters: Vec<_> = lines_of.iter().filter_map(|line| line["iter"].as_u64()).collect();
    iters.dedup();
    assert_eq!(iters, [20, 40, 60]);
    let accuracies = lines_of.iter().filter(|line| line["val/Accuracy"].is_f64()).count();
    assert_eq!(accuracies, 3);
    for name in ["train/loss", "train/lr", "train/time", "train/data_time", "val/loss"] {
        assert!(run.scalar(name).is_finite(), "{name}");
    }
    assert_eq!(run.checkpoints(), ["iter_0000020", "iter_0000040", "iter_0000060"]);
    let best = run.text("checkpoints/best").trim().to_owned();
    assert!(run.checkpoints().contains(&best));
    let leads_to = |name: &str| fs::read_link(run.path.join("checkpoints").join(name)).unwrap();
    assert_eq!(leads_to("model_best").to_str(), Some(best.as_str()));
    assert_eq!(leads_to("model_0000060").to_str(), Some("iter_0000060"));
    assert_eq!(fs::read_dir(run.path.join("tb")).unwrap().count(), 1);
    // Its schedule, after the rise: of 60 steps the twentieth, counted from 0.
    let wave = f64::midpoint(1.0, (std::f64::consts::PI * 19.0 / 60.0).cos());
    let rate = lines_of.iter().find_map(|line| line["train/lr"].as_f64()).unwrap();
    assert!((rate - 0.005 * (0.99 * wave + 0.01)).abs() < 1e-12, "{rate}");
    let speed = lines(&run, &["IterationTimer", "per second"]);
    assert_eq!(speed.len(), 1, "{speed:?}");
    let order = planned(&run, "after_train_iter").join("\n");
    let place = |hook: &str| order.find(hook).unwrap_or_else(|| panic!("no {hook} in\n{order}"));
    assert!(place("IterationTimer") < place("EvalHook"), "{order}");
    assert!(place("EvalHook") < place("PeriodicCheckpointer"), "{order}");
    assert!(place("PeriodicCheckpointer") < place("PeriodicWriter"), "{order}");
}

#[test]
fn orca_s_callbacks_write_by_epoch_and_end_at_their_step() {
    let bench = Bench::bare();
    let run = trained(&bench, "orca.toml");
    let record = run.record();
    assert_eq!((record["iter"].as_u64(), record["outcome"].as_str()), (Some(60), Some("stopped")));
    let mut iters: Vec<_> = run.scalars().iter().filter_map(|line| line["iter"].as_u64()).collect();
    iters.dedup();
    assert_eq!(iters, [23, 46, 60]);
    assert!((run.scalar("val/AUC") - run.scalar("val/ROC")).abs() < 1e-12);
    assert!(run.scalar("val/Top5Accuracy") >= run.scalar("val/Accuracy"));
    assert!(run.path.join("checkpoints/epoch=1/model.safetensors").is_file());
    assert!(run.text("report.html").contains("val/PrecisionRecallCurve"));
    assert_eq!(fs::read_dir(run.path.join("tb")).unwrap().count(), 1);
}

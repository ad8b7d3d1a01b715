//! The hook lists of the guides that hookrack grew out of, each as a config that runs, and what each leaves behind.

use crate::workbench::{Bench, RunFolder};
use crate::workshop::repository;

/// Trains one of `configs/seeds/` with the bundled plugins.
fn trained(name: &str, more: &[&str]) -> (Bench, RunFolder) {
    let bench = Bench::bare();
    let config = repository().join("configs/seeds").join(name);
    let dirs = format!("plugins.dirs=[\"{}\"]", bench.path("plugins").display());
    let args = ["train", config.to_str().unwrap(), "--run-dir", "run", "-s", &dirs];
    bench.run(args.iter().chain(more)).expect(0);
    let run = RunFolder { path: bench.path("run") };
    (bench, run)
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
    let (_bench, run) = trained("imix.toml", &[]);
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
    assert_eq!(lines(&run, &["IterationTimerHook", "a second"]).len(), 1);
    // Both averages are kept; the one that came first is evaluated with.
    for name in ["EMAIterHook", "EMAEpochHook"] {
        assert!(!run.tensors(&format!("{name}.safetensors")).is_empty());
    }
    assert_eq!(lines(&run, &["EMAEpochHook", "evaluates with its weights"]).len(), 1);
    assert_eq!(run.checkpoints().len(), 2);
}

//! The built-in hooks through the program: each one alone with its defaults, then what each does.

mod logging;
mod steering;
mod stopping;

use crate::workbench::{Bench, RunFolder};
use hookrack::hooks::{DEFAULT_HOOKS, HOOKS};
use hookrack::plugins::HookType;
use std::ops::Deref;

/// Settings without which a hook has nothing to do.
fn needed(hook: &str) -> &'static str {
    match hook {
        "MetricHook" => "metric = \"Accuracy\"\n",
        "BestCheckpointer" => "val_metric = \"val/Accuracy\"\n",
        "MaxstepsCallback" | "MaxStepsCallback" => "max_step = 3\n",
        _ => "",
    }
}

/// A custom hook beside the default ones.
fn bench(hook: &str, settings: &str) -> Bench {
    Bench::new(&format!("[[custom_hooks]]\ntype = \"{hook}\"\nname = \"it\"\n{settings}"))
}

/// A run directory, and the folder that it lies in.
struct Kept {
    run: RunFolder,
    _bench: Bench,
}

impl Deref for Kept {
    type Target = RunFolder;
    fn deref(&self) -> &RunFolder {
        &self.run
    }
}

/// Trains with one hook and returns the lines that it logged, each without the prefix before the hook's name.
fn logged(hook: &str, settings: &str) -> (Kept, Vec<String>) {
    let bench = bench(hook, settings);
    let run = bench.trained("run", &[]);
    let lines = run.said("it");
    (Kept { run, _bench: bench }, lines)
}

/// Whether a hook was disabled, or libtorch's profiler printed lines of its own.
fn has_failed(stderr: &str) -> bool {
    ["is disabled for the rest of the run", "USDT:", "gpuGetDeviceCount"]
        .iter()
        .any(|line| stderr.contains(line))
}

#[test]
fn every_built_in_hook_lives_through_a_run_with_its_defaults() {
    for table in HOOKS {
        let hook = HookType::built_in(table).unwrap();
        for name in hook.manifest.names() {
            // A first run has no checkpoint to load: `keeping` has tests of that.
            let is_loader = name == "LoadCheckpointHook";
            if is_loader || DEFAULT_HOOKS.iter().any(|(_, default, _)| *default == name) {
                continue;
            }
            let bench = bench(name, needed(name));
            let (ran, run) = bench.train("run", &[]);
            assert!(!has_failed(&ran.expect(0).stderr), "{name}: {}", ran.stderr);
            assert_ne!(run.record()["outcome"], "failed", "{name}");
            let ran = bench.run(["eval", "config.toml", "--checkpoint", "run"]);
            assert!(!has_failed(&ran.expect(0).stderr), "{name}: {}", ran.stderr);
        }
    }
}

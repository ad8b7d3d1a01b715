//! What `check` finds before any training, `train` finds too, before its first step and at the same line.

use crate::bad_configs::configs;
use crate::workbench::{Bench, RunFolder, hook};
use std::path::Path;

#[test]
fn train_refuses_what_check_refuses_in_the_same_words_and_leaves_no_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/refused_configs");
    let wanted = ["monitor_", "save_best_", "plateau_of_a_scalar", "plateau_within", "outputs_"];
    let cases = configs(&folder).into_iter().filter(|case| {
        let name = case.file_name().unwrap().to_str().unwrap();
        wanted.iter().any(|beginning| name.starts_with(beginning))
    });
    let bench = Bench::bare();
    let mut count = 0;
    for case in cases {
        let run = bench.path("run");
        let args = ["train", case.to_str().unwrap(), "--run-dir", run.to_str().unwrap()];
        let ran = crate::workbench::run_in(&folder, args);
        let said = std::fs::read_to_string(case.with_extension("stderr")).unwrap();
        // The path is written out, and libtorch's own words may have more in them.
        let title = said.lines().next().unwrap();
        ran.expect(2).says(&[title, case.file_name().unwrap().to_str().unwrap()]);
        assert!(!run.exists(), "{}", case.display());
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

const NEEDY: &str = "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"needy\"\nfile = \"calls\"\nat = \"on_attach\"\n\
                     how = \"shell\"\ncommand = \"test -e needed\"\n";

#[test]
fn a_file_that_a_hook_needs_to_attach_is_missed_by_check_and_by_train_at_the_hooks_line() {
    let bench = Bench::new(NEEDY);
    let line =
        bench.read("config.toml").lines().position(|line| line == "[[custom_hooks]]").unwrap() + 1;
    let place = format!("config.toml:{line}:1");
    let error = "error: hook `needy` (libfaulty.so) failed at on_attach, epoch 0, iteration 0: test -e needed";
    bench.check(&[]).expect(2).says(&[error, &place]);
    assert_eq!(bench.read("calls"), "on_attach 0 running\n", "what did not attach is not detached");
    // Under its own policy a run would warn and continue without it; `check` fails.
    let (ran, _) = bench.train("without", &[]);
    ran.expect(0).says(&["failed at on_attach", "it is disabled for the rest of the run"]);
    let (ran, run) = bench.train("run", &["custom_hooks.needy.on_error=abort"]);
    ran.expect(4).says(&[error, &place]);
    assert_eq!(run.record()["outcome"], "failed");

    std::fs::write(bench.path("needed"), "").unwrap();
    bench.take("calls");
    bench.check(&[]).expect(0);
    assert_eq!(
        bench.take("calls"),
        "on_attach 0 running\non_detach 0 running\n",
        "and nothing else"
    );
    assert!(!bench.path("runs").exists());
}

#[test]
fn an_operator_that_there_is_not_is_missed_before_training() {
    let bench = Bench::new(&hook("Misnamed", ""));
    let error = "error: hook `Misnamed` (libfaulty.so) could not be created: libtorch: no operator named `aten::no_such_operator`";
    bench.check(&[]).expect(2).says(&[error, "config.toml:", "[[custom_hooks]]"]);
    bench.train("run", &[]).0.expect(2).says(&[error]);
}

/// Every built-in hook that puts scalars, with what makes it put all of them.
const MANY: &str = r#"
[[metrics]]
type = "F1"
phase = ["train", "val"]
[[metrics]]
type = "ConfusionMatrix"
[[custom_hooks]]
type = "LogMetricByStepHook"
[[custom_hooks]]
type = "GradNormHook"
[[custom_hooks]]
type = "ThroughputHook"
tflop_per_step = 1.0
[[custom_hooks]]
type = "MomentumSchedulerHook"
[[custom_hooks]]
type = "LogMemoryByEpochHook"
[[custom_hooks]]
type = "LossHook"
name = "own"
[[custom_hooks]]
type = "GradNormC"
"#;

#[test]
fn every_scalar_that_a_run_puts_can_be_watched() {
    let bench = Bench::new(MANY);
    let fp16 = ["train.precision=fp16", "default_hooks.timer.warmup_iter=0"];
    let run = bench.trained("run", &fp16);
    let mut names: Vec<_> = run
        .scalars()
        .iter()
        .flat_map(|line| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>())
        .collect();
    names.retain(|name| name.contains('/'));
    names.sort();
    names.dedup();
    assert!(names.len() > 20, "{names:?}");
    let watches = names.iter().enumerate().map(|(index, name)| {
        format!(
            "[[custom_hooks]]\ntype = \"EarlyStoppingHook\"\nname = \"w{index}\"\nmonitor = \"{name}\"\nmode = \"min\"\n"
        )
    });
    let watches = watches.collect::<Vec<_>>().concat();
    bench.add(&watches);
    let ran = bench.run([&["check", "config.toml"][..], &fp16].concat());
    ran.expect(0);
    assert!(!ran.stderr.contains("nothing is known to put"), "{}", ran.stderr);
}

/// A hook that says nothing about what it puts, so that nothing is sure.
const SILENT: &str = "[[custom_hooks]]\ntype = \"Recorder\"\nfile = \"calls\"\n";

#[test]
fn a_scalar_that_only_a_silent_hook_could_put_is_doubted_and_its_absence_ends_the_run() {
    for (hook, key) in [("EarlyStoppingHook", "monitor"), ("BestCheckpointer", "val_metric")] {
        let watch = format!(
            "[[custom_hooks]]\ntype = \"{hook}\"\n{key} = \"val/Acuracy\"\nmode = \"max\"\n"
        );
        let bench = Bench::new(&format!("{SILENT}{watch}"));
        let doubt = "nothing is known to log `val/Acuracy`; did you mean `val/Accuracy`?";
        bench.check(&[]).expect(0).says(&[doubt, "config.toml:"]);
        let (ran, run) = bench.train("run", &[]);
        ran.expect(4)
            .says(&["the validation did not log `val/Acuracy`; it logged ", "val/Accuracy"]);
        assert_eq!(run.record()["iter"], 2, "after the first validation");
    }
}

#[test]
fn a_value_that_is_never_looked_at_is_reported_at_the_end() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"EarlyStoppingHook\"\n[default_hooks]\nevaluate = false\ncheckpoint = { save_best = \"val/loss\" }\n",
    );
    let (ran, run): (_, RunFolder) = bench.train("run", &[]);
    ran.expect(0).says(&[
        "nothing logged `val/loss`, which this hook monitors",
        "nothing logged `val/loss`, which selects the best checkpoint",
    ]);
    assert_eq!(run.record()["outcome"], "completed");
}

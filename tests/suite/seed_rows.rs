//! What the seeds do under a name, each through the program: metrics as hooks, writers and their folders, callbacks, curves.

use crate::workbench::{Bench, RunFolder, hook};
use std::fs;
use std::path::{Path, PathBuf};

/// Epochs in which a scalar was written.
fn epochs_of(run: &RunFolder, name: &str) -> Vec<u64> {
    let has = |line: &serde_json::Value| Some(line.get(name)?.as_f64().and(line["epoch"].as_u64()));
    run.scalars().iter().filter_map(has).flatten().collect()
}

/// The event files of a folder, by name.
fn event_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_events =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("events.out.");
    let mut files: Vec<_> = paths.filter(is_events).collect();
    files.sort();
    files
}

fn holds(file: &Path, text: &str) -> bool {
    fs::read(file).unwrap().windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn a_metric_under_custom_hooks_has_a_level_a_cadence_and_an_error_policy() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"AccuracyHook\"\nname = \"seldom\"\nlevel = \"LOWEST\"\nevery = \"2ep\"\n\
         [[custom_hooks]]\ntype = \"MetricHook\"\nmetric = \"AUROC\"\nname = \"small\"\nlimit = 1\non_error = \"disable\"\n",
    );
    let plan = bench.run(["plan", "config.toml"]);
    let row = plan.expect(0).stdout.lines().find(|line| line.contains(" seldom ")).unwrap();
    assert!(row.contains("60"), "{row}");
    let (ran, run) = bench.train("run", &["train.max_epochs=4"]);
    // What does not fit into its limit ends neither the run nor the other metrics.
    ran.expect(0).says(&["small", "more than `limit` = 1 samples"]);
    assert_eq!(epochs_of(&run, "val/seldom"), [2, 4]);
    assert_eq!(epochs_of(&run, "val/Accuracy"), [1, 2, 3, 4]);
    assert!(epochs_of(&run, "val/small").is_empty());
    let abort = ["custom_hooks.small.on_error=abort"];
    bench.train("abort", &abort).0.expect(4).says(&["small", "more than `limit` = 1 samples"]);
    // The resolved config says it all again, and means the same.
    let config = run.text("config.toml");
    assert!(config.contains("every = \"2ep\"") && config.contains("level = 60"), "{config}");
    bench.run(["train", "run/config.toml", "--run-dir", "again"]).expect(0);
    let again = bench.folder("again");
    assert_eq!(epochs_of(&again, "val/seldom"), [2, 4]);
}

#[test]
fn a_loss_hook_s_metric_is_there_to_monitor_and_to_log() {
    let bench = Bench::new(
        "[default_hooks]\nloss = false\n[[custom_hooks]]\ntype = \"LossHook\"\n\
         [[custom_hooks]]\ntype = \"LogMetricByStepHook\"\ninterval = 1\n\
         [[custom_hooks]]\ntype = \"LogMetricByEpochHook\"\n\
         [[custom_hooks]]\ntype = \"EarlyStoppingHook\"\nmonitor = \"val/Loss\"\nstopping_threshold = 100.0\n",
    );
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0);
    assert!((run.scalar("val/Loss") - run.scalar("val/loss")).abs() < 1e-12);
    let steps = run.said("LogMetricByStepHook");
    assert!(steps.iter().any(|line| line.starts_with("train iteration 1: Loss ")), "{steps:?}");
    assert!(steps.iter().any(|line| line.starts_with("val iteration 1: ")), "{steps:?}");
    let epochs = run.said("LogMetricByEpochHook");
    for phase in ["train", "val"] {
        let line = epochs.iter().find(|line| line.contains(&format!(", {phase}: ")));
        assert!(line.is_some_and(|line| line.contains("Loss = ")), "{epochs:?}");
    }
    // Lower is better, without anybody saying so: it was reached at the first look.
    assert_eq!(run.record()["outcome"], "stopped");
    assert!(run.record()["why"].as_str().unwrap().contains("val/Loss has reached"));
    let best = &run.record()["metrics"]["val/Loss"]["best"];
    assert!(best["value"].is_f64(), "{}", run.record()["metrics"]);
}

#[test]
fn a_log_dir_outside_is_shared_by_runs_and_each_cuts_back_its_own_files_only() {
    let bench = Bench::new("");
    let shared = bench.path("boards");
    bench.configure(&hook("TensorboardHook", &format!("log_dir = '{}'", shared.display())));
    bench.trained("other", &[]);
    let others = event_files(&shared);
    assert_eq!(others.len(), 1);
    let before = fs::read(&others[0]).unwrap();

    let run = bench.trained("run", &[]);
    assert!(!run.path.join("tb").exists());
    let mine: Vec<_> = event_files(&shared).into_iter().filter(|f| !others.contains(f)).collect();
    let [mine] = mine.as_slice() else { panic!("{mine:?}") };
    let whole = fs::metadata(mine).unwrap().len();

    // A run that is only tried leaves nothing, there neither.
    bench.run(["train", "config.toml", "--fast-dev-run"]).expect(0);
    assert_eq!(event_files(&shared).len(), 2);

    // Resumed from its first epoch: its own file loses what came later, the other run's loses nothing.
    let from = "run/checkpoints/iter_0000002";
    bench.run(["train", "config.toml", "--resume", from]).expect(0);
    assert!(fs::metadata(mine).unwrap().len() < whole);
    assert_eq!(event_files(&shared).len(), 3);
    assert_eq!(fs::read(&others[0]).unwrap(), before);
}

#[test]
fn a_relative_log_dir_is_relative_to_the_run_directory() {
    let bench = Bench::new(&hook("TensorboardHook", "log_dir = '../boards'"));
    bench.trained("runs/run", &[]);
    assert_eq!(event_files(&bench.path("runs/boards")).len(), 1);
    bench.trained("runs/inside", &["custom_hooks.0.log_dir=./a/tb"]);
    assert_eq!(event_files(&bench.path("runs/inside/a/tb")).len(), 1);
    assert!(!bench.path("runs/inside/event_files.txt").exists(), "its own folder needs no list");
}

#[test]
fn the_json_logger_writes_beside_metrics_json_where_it_is_reported_to() {
    let bench = Bench::new(&hook("JSONLoggerHook", "log_dir = '.'"));
    let run = bench.trained("run", &[]);
    assert_eq!(run.text("training_status.json"), run.text("metrics.json"));
    bench.trained("other", &["custom_hooks.0.log_dir=./logs/json/"]);
    assert!(bench.path("other/logs/json/training_status.json").is_file());
    let (ran, _) = bench.train("outside", &["custom_hooks.0.log_dir=../json"]);
    ran.expect(4).says(&["JSONLoggerHook", "`../json`: use a path inside the run directory"]);
}

#[test]
fn libai_s_writer_writes_each_period_and_at_the_end_and_opens_tensorboard() {
    let bench = Bench::new(
        "[default_hooks]\nlogger = false\n[[custom_hooks]]\ntype = \"PeriodicWriter\"\nperiod = 4\n\
         writers = [\"CommonMetricPrinter\", \"JSONWriter\", \"TensorboardXWriter\"]\n",
    );
    let run = bench.trained("run", &["train.max_epochs=5"]);
    let mut iters: Vec<_> = run.scalars().iter().filter_map(|line| line["iter"].as_u64()).collect();
    iters.dedup();
    assert_eq!(iters, [4, 8, 10]);
    let [events] = event_files(&run.path.join("tb")).try_into().unwrap();
    assert!(holds(&events, "val/Accuracy"));
    let wrong = "custom_hooks.0.writers=[\"JsonWriter\"]";
    bench.check(&[wrong]).expect(2).says(&["JSONWriter"]);
}

#[test]
fn orca_s_callbacks_go_by_their_names() {
    let bench = Bench::new(
        "[default_hooks]\nlogger = false\n\
         [[custom_hooks]]\ntype = \"TqdmCallback\"\n\
         [[custom_hooks]]\ntype = \"MaxstepsCallback\"\nmax_step = 5\n\
         [[custom_hooks]]\ntype = \"TensorBoardCallback\"\nlog_dir = \"boards\"\nfreq = 3\n",
    );
    let run = bench.trained("run", &["train.max_epochs=4"]);
    let record = run.record();
    assert_eq!((record["iter"].as_u64(), record["outcome"].as_str()), (Some(5), Some("stopped")));
    assert!(record["why"].as_str().unwrap().contains("max_step = 5"), "{}", record["why"]);
    assert_eq!(event_files(&run.path.join("boards")).len(), 1);
    // After two epochs of two iterations each, after three batches, and at the end.
    let mut iters: Vec<_> = run.scalars().iter().filter_map(|line| line["iter"].as_u64()).collect();
    iters.dedup();
    assert_eq!(iters, [2, 3, 4, 5]);
    // A resumed run does not go beyond it.
    bench.run(["train", "config.toml", "train.max_epochs=4", "--resume", "run"]).expect(0);
    assert_eq!(run.record()["iter"].as_u64(), Some(5));
    for (freq, wrong) in
        [("\"batch\"", false), ("\"epoch\"", false), ("0", true), ("\"often\"", true)]
    {
        let freq = format!("custom_hooks.2.freq={freq}");
        let ran = bench.check(&[&freq]);
        assert_eq!(ran.code, Some(if wrong { 2 } else { 0 }), "{freq}: {}", ran.stderr);
    }
}

#[test]
fn curves_are_pictures_in_tensorboard_and_figures_in_the_report() {
    let bench = Bench::new(
        "[[metrics]]\ntype = \"ROC\"\n[[metrics]]\ntype = \"PrecisionRecallCurve\"\nname = \"pr\"\n\
         [[metrics]]\ntype = \"AUROC\"\n[[metrics]]\ntype = \"AveragePrecision\"\n\
         [[custom_hooks]]\ntype = \"TensorboardHook\"\n",
    );
    let run = bench.trained("run", &[]);
    assert!((run.scalar("val/ROC") - run.scalar("val/AUROC")).abs() < 1e-12);
    assert!((run.scalar("val/pr") - run.scalar("val/AveragePrecision")).abs() < 1e-12);
    let [events] = event_files(&run.path.join("tb")).try_into().unwrap();
    assert!(holds(&events, "PNG\r\n"), "no picture");
    let page = run.text("report.html");
    for part in ["Curves over thresholds", "val/ROC", "val/pr", "false positive rate", "class 2"] {
        assert!(page.contains(part), "`{part}` is not in the report");
    }
    let file = run.json("curves/val_ROC.json");
    assert_eq!(file["iter"].as_u64(), Some(4));
    assert_eq!(file["curves"].as_array().unwrap().len(), 3);
    for curve in file["curves"].as_array().unwrap() {
        let points = curve["points"].as_array().unwrap();
        assert_eq!(points[0], serde_json::json!([0.0, 0.0]));
        assert_eq!(points[points.len() - 1], serde_json::json!([1.0, 1.0]));
    }
}

#[test]
fn names_of_metrics_that_say_their_setting_measure_what_they_say() {
    let metric = |name: &str| format!("[[metrics]]\ntype = \"{name}\"\n");
    let with = |name: &str, given: &str, key: &str| {
        format!("[[metrics]]\ntype = \"{name}\"\nname = \"{given}\"\n{key}\n")
    };
    let bench = Bench::new(
        &[
            metric("RecallAt1"),
            with("RecallAtK", "k1", "k = 1"),
            metric("MacroF1"),
            with("F1", "f1", "average = \"macro\""),
            metric("CategoricalAccuracy"),
        ]
        .concat(),
    );
    let run = bench.trained("run", &[]);
    for (name, same) in
        [("RecallAt1", "k1"), ("MacroF1", "f1"), ("CategoricalAccuracy", "Accuracy")]
    {
        let [name, same] = [name, same].map(|name| run.scalar(&format!("val/{name}")));
        assert!((name - same).abs() < 1e-12, "{name} {same}");
    }
}

#[test]
fn the_average_begins_with_the_weights_that_training_begins_with() {
    let ema = "[[custom_hooks]]\ntype = \"EMAIterHook\"\nmomentum = 0.75\nwarmup = false\ninit_ema = true\n";
    let bench = Bench::new(ema);
    let one = ["train.max_epochs=1"];
    let still = bench.trained("still", &[&one[..], &["optimizer.lr=0"]].concat());
    let begun = still.model(2);
    let every = [&one[..], &["default_hooks.checkpoint.iter_period=1"]].concat();
    let run = bench.trained("run", &every);
    let [first, second] = [1, 2].map(|iter| run.model(iter));
    let average = run.tensors("EMAIterHook.safetensors");
    let late = bench.trained("late", &[&one[..], &["custom_hooks.0.init_ema=false"]].concat());
    let late = late.tensors("EMAIterHook.safetensors");
    let mut apart = 0.0f32;
    for (name, values) in &average {
        for (at, value) in values.iter().enumerate() {
            let (w0, w1, w2) = (begun[name][at], first[name][at], second[name][at]);
            let wanted = 0.75 * (0.75 * w0 + 0.25 * w1) + 0.25 * w2;
            // Two steps of a few roundings each, at the size of the weights.
            let size = w0.abs().max(w1.abs()).max(w2.abs());
            assert!(
                (value - wanted).abs() <= 8.0 * f32::EPSILON * size,
                "{name}: {value} {wanted}"
            );
            let from_first = 0.75 * w1 + 0.25 * w2;
            assert!((late[name][at] - from_first).abs() <= 8.0 * f32::EPSILON * size, "{name}");
            apart = apart.max((value - late[name][at]).abs());
        }
    }
    assert!(apart > 1e-5, "both begin alike: {apart}");
    // A resumed run continues with its saved average.
    let more = [&one[..], &["default_hooks.checkpoint.iter_period=1"]].concat();
    let from = ["--resume", "run/checkpoints/iter_0000001"];
    bench.run(["train", "config.toml"].iter().chain(&more).chain(&from)).expect(0);
    assert_eq!(run.tensors("EMAIterHook.safetensors"), average);
}

#[test]
fn a_trace_goes_where_output_dir_says() {
    let bench = Bench::new(&hook(
        "AutogradProfilerHook",
        "name = 'it'\nwait = 1\nactive = 2\noutput_dir = './traces'",
    ));
    let run = bench.trained("run", &[]);
    assert!(run.path.join("traces/it-iter_0000004.json").is_file());
    assert!(!run.path.join("profile").exists());
    let outside = bench.path("elsewhere");
    let set = format!("custom_hooks.0.output_dir={}", outside.display());
    bench.trained("other", &[&set]);
    assert!(outside.join("it-iter_0000004.json").is_file());
}

#[test]
fn the_mode_of_anomaly_detection_goes_by_torch_s_name() {
    let bench = Bench::new(&hook("AutogradAnomalyDetectHook", "mode = true"));
    bench.trained("fine", &[]);
    let (ran, _) = bench.train("broken", &["optimizer.lr=1e38"]);
    assert_ne!(ran.code, Some(0));
    ran.says(&["Backward0"]);
}

#[test]
fn a_curve_that_cannot_be_kept_does_not_end_the_run() {
    let bench = Bench::new("[[metrics]]\ntype = \"ROC\"\n");
    // A file lies where the folder should be.
    let run = bench.trained("run", &["train.max_epochs=1"]);
    fs::remove_dir_all(run.path.join("curves")).unwrap();
    fs::write(run.path.join("curves"), "in the way").unwrap();
    let more = ["train", "config.toml", "train.max_epochs=2", "--resume", "run"];
    bench.run(more).expect(0).says(&["the report will not contain the curve of val/ROC"]);
    assert_eq!(epochs_of(&run, "val/ROC"), [1, 2]);
}

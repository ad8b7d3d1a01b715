//! Hooks that measure and log, and the files they write.

use super::logged;
use crate::workbench::Bench;

#[test]
fn metrics_are_logged_by_epoch_and_shared_by_step() {
    let (run, lines) = logged("LogMetricByEpochHook", "");
    let accuracy = run.record()["metrics"]["val/Accuracy"]["last"].as_f64().unwrap();
    let epochs = |phase: &str| lines.iter().filter(|line| line.contains(phase)).count();
    assert_eq!((epochs(", train: "), epochs(", val: ")), (2, 2), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("epoch 2, val: "), "{last}");
    assert!(last.contains(&format!("Accuracy = {accuracy:.4}")), "{last}");
    assert!(last.contains(&format!("loss = {:.4}", run.scalar("val/loss"))), "{last}");

    let (_, lines) = logged("LogMetricByEpochHook", "interval = 2\n");
    assert!(lines.iter().all(|line| line.starts_with("epoch 2")) && lines.len() == 2, "{lines:?}");

    // The metric is a metric of the training phase too, so that there is something to share at each step.
    let settings = "interval = 2\n[[metrics]]\ntype = \"Loss\"\nphase = \"train\"\n";
    let (_, lines) = logged("LogMetricByStepHook", settings);
    let trained: Vec<_> = lines.iter().filter(|line| line.starts_with("train")).collect();
    assert_eq!(trained.len(), 2, "{lines:?}");
    assert!(trained[0].starts_with("train iteration 2: Loss "), "{trained:?}");
}

#[test]
fn times_and_memory_are_logged_by_epoch() {
    let (_, lines) = logged("LogTimingByEpochHook", "");
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].starts_with("epoch 1, train: epoch last = "), "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with("2 iterations per epoch")), "{lines:?}");
    let (_, lines) = logged("LogTimingByEpochHook", "log_eval = false\n");
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("train")), "{lines:?}");

    let (run, lines) = logged("LogMemoryByEpochHook", "");
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[0].starts_with("before training: "), "{lines:?}");
    let [now, peak] = ["memory_mb", "memory_peak_mb"].map(|n| run.scalar(&format!("hook/it/{n}")));
    assert!(now > 10.0 && peak >= now, "{now} {peak}");
}

#[test]
fn throughput_is_samples_a_second() {
    let (run, _) = logged("ThroughputHook", "tflop_per_step = 0.5\nignored_steps = 1\n");
    for name in ["train/throughput", "train/throughput_epoch", "val/throughput"] {
        assert!(run.scalar(name) > 0.0, "{name}");
    }
    // Four samples a step against half a million million operations.
    let (rate, tflops) = (run.scalar("train/throughput"), run.scalar("train/tflops"));
    assert!((rate / 4.0 * 0.5 / tflops - 1.0).abs() < 0.5, "{rate} {tflops}");
}

#[test]
fn the_usual_line_has_progress_loss_rate_and_times() {
    let (run, lines) = logged("CommonMetricLoggerHook", "period = 2\n");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.contains("epoch 2/2  iter 4/4"), "{last}");
    assert!(last.contains("eta 0:00:00") && last.contains("max_mem "), "{last}");
    assert!(last.contains("  loss ") && last.contains("  lr 1.000e-3"), "{last}");
    assert_eq!(run.record()["outcome"], "completed");

    let (_, lines) = logged("TextLoggerHook", "text = \"good day\"\n");
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(": good day")), "{lines:?}");
}

#[test]
fn a_metric_in_the_list_of_hooks_is_computed_like_any_other() {
    let (run, _) = logged("MetricHook", "metric = \"TopK\"\nk = 3\n");
    assert!((run.scalar("val/it") - 1.0).abs() < 1e-12, "three of three classes");
    let (run, _) = logged("AccuracyHook", "");
    assert!((run.scalar("val/it") - run.scalar("val/Accuracy")).abs() < 1e-12);
}

#[test]
fn the_loss_of_an_epoch_is_the_mean_of_its_iterations() {
    let bench = Bench::new("[default_hooks.logger]\ninterval = 1\n");
    let run = bench.trained("run", &["train.max_epochs=1"]);
    let lines = run.scalars();
    let step = |iter: u64| {
        let line = lines.iter().find(|line| line["iter"] == iter && line["train/loss"].is_f64());
        line.unwrap()["train/loss"].as_f64().unwrap()
    };
    let mean = f64::midpoint(step(1), step(2));
    assert!((run.scalar("train/loss_epoch") - mean).abs() < 1e-9, "{lines:?}");
    assert!(run.scalar("train/epoch_time") > 0.0);
}

#[test]
fn the_norm_of_the_gradients_is_that_of_the_parameters_together() {
    let (run, _) =
        logged("GradNormHook", "per_param = true\n[default_hooks.logger]\ninterval = 1\n");
    let line = &run.scalars()[0];
    let squares: f64 = line
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.starts_with("hook/it/"))
        .map(|(_, norm)| norm.as_f64().unwrap().powi(2))
        .sum();
    assert!((squares.sqrt() - line["train/grad_norm"].as_f64().unwrap()).abs() < 1e-5, "{line}");
}

#[test]
fn predictions_of_a_validation_are_saved_with_their_labels() {
    let (run, _) = logged("PredictionWriter", "");
    let written = run.tensors("it-val.safetensors");
    assert_eq!(written["output"].len(), 8 * 3);
}

#[test]
fn a_summary_has_parameters_and_the_operations_of_a_forward_pass() {
    let (run, lines) = logged("ModelSummary", "");
    let log = run.text("log.txt");
    // 4 inputs, 8 hidden, 3 classes.
    assert!(log.contains("67 parameters in 4 tensors: 268 bytes"), "{log}");
    let flops = lines.iter().find(|line| line.contains("a forward pass of 4 samples")).unwrap();
    // Two products: 2 * 4 * (4 * 8 + 8 * 3) operations.
    assert!(flops.contains("448.000 FLOP") && flops.contains("112.000 FLOP per sample"), "{flops}");
}

#[test]
fn writers_are_opened_by_their_hooks_and_write_what_metrics_json_has() {
    let (run, _) = logged("JSONLoggerHook", "");
    assert_eq!(run.text("json/training_status.json"), run.text("metrics.json"));
    assert!(!run.text("metrics.json").is_empty());
    let (run, _) = logged("TensorboardLoggerHook", "work_dir = \"./runs\"\n");
    let files: Vec<_> = std::fs::read_dir(run.path.join("runs")).unwrap().flatten().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let events = std::fs::read(files[0].path()).unwrap();
    let has = |name: &str| events.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(has("train/loss") && has("val/loss"));
}

#[test]
fn checkpoints_go_to_the_folder_of_choice_and_a_resume_finds_them() {
    let bench = Bench::new("[default_hooks.checkpoint]\ncheckpoint_dir = \"./ckpt\"\n");
    let run = bench.trained("run", &["train.max_epochs=1"]);
    assert!(bench.path("ckpt/iter_0000002/model.safetensors").is_file());
    for resume in ["run", "run/checkpoints/iter_0000002"] {
        bench.run(["train", "config.toml", "--resume", resume]).expect(0);
        assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"], "{resume}");
    }
    let args = ["train", "config.toml", "--resume", "run"];
    let elsewhere = ["default_hooks.checkpoint.checkpoint_dir=other", "--force"];
    let elsewhere = [&elsewhere[..], &["train.max_epochs=3"]].concat();
    bench.run(args.iter().chain(&elsewhere)).expect(4).says(&["do not change their folder"]);
}

#[test]
fn the_first_iterations_of_every_start_are_not_timed() {
    let bench = Bench::new(
        "[default_hooks.logger]\ninterval = 1\n[[custom_hooks]]\ntype = \"ThroughputHook\"\nignored_steps = 2\n",
    );
    let long = ["data.train.samples=80"];
    bench.trained("run", &[&long[..], &["--until", "8"]].concat());
    let run = bench.trained("run", &[&long[..], &["--resume", "--until", "16"]].concat());
    let timed = |name: &str| -> Vec<u64> {
        let lines = run.scalars();
        let at = |line: &serde_json::Value| line[name].as_f64().and(line["iter"].as_u64());
        lines.iter().filter_map(at).collect()
    };
    assert_eq!(timed("train/time"), [4, 5, 6, 7, 8, 12, 13, 14, 15, 16]);
    assert_eq!(timed("train/throughput"), [3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16]);
}

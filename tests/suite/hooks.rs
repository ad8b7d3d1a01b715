//! The built-in hooks through the program: each one alone with its defaults, then what each leaves behind.

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

/// Trains with one hook and gives the lines that it logged, each without what stands before the hook's name.
fn logged(hook: &str, settings: &str) -> (Kept, Vec<String>) {
    let bench = bench(hook, settings);
    let run = bench.trained("run", &[]);
    let lines = own_lines(&run);
    (Kept { run, _bench: bench }, lines)
}

fn own_lines(run: &RunFolder) -> Vec<String> {
    let log = run.text("log.txt");
    log.lines().filter_map(|line| Some(line.split_once(" it: ")?.1.to_owned())).collect()
}

#[test]
fn every_built_in_hook_lives_through_a_run_with_its_defaults() {
    for table in HOOKS {
        let hook = HookType::built_in(table).unwrap();
        for name in hook.names() {
            // A first run has no checkpoint to load: `keeping` has tests of that.
            let is_loader = name == "LoadCheckpointHook";
            if is_loader || DEFAULT_HOOKS.iter().any(|(_, default, _)| *default == name) {
                continue;
            }
            let bench = bench(name, needed(name));
            let (ran, run) = bench.train("run", &[]);
            ran.expect(0);
            assert!(
                !ran.stderr.contains("is disabled for the rest of the run"),
                "{name}: {}",
                ran.stderr
            );
            assert_ne!(run.record()["outcome"], "failed", "{name}");
            let ran = bench.run(["eval", "config.toml", "--checkpoint", "run"]);
            assert!(
                !ran.expect(0).stderr.contains("is disabled for the rest of the run"),
                "{name}: {}",
                ran.stderr
            );
        }
    }
}

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
    assert!(lines.iter().all(|line| line.ends_with("2 iterations an epoch")), "{lines:?}");
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
fn a_metric_in_the_place_of_a_hook_is_measured_like_any() {
    let (run, _) = logged("MetricHook", "metric = \"TopK\"\nk = 3\n");
    assert!((run.scalar("val/it") - 1.0).abs() < 1e-12, "three of three classes");
    let (run, _) = logged("AccuracyHook", "");
    assert!((run.scalar("val/it") - run.scalar("val/Accuracy")).abs() < 1e-12);
}

#[test]
fn the_loss_of_an_epoch_is_the_mean_of_its_iterations() {
    let bench = Bench::new("[default_hooks.logger]\ninterval = 1\n");
    let run = bench.trained("run", &["-s", "train.max_epochs=1"]);
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
fn a_run_that_no_longer_gets_better_ends_and_says_why() {
    // A rate of 0 learns nothing: the first look sets the best value, two more find nothing better.
    let bench = bench("EarlyStoppingHook", "patience = 2\nmonitor = \"val/loss\"\n");
    let (ran, run) = bench.train("run", &["-s", "train.max_epochs=9", "-s", "optimizer.lr=0.0"]);
    ran.expect(0).prints(&["val/loss has not improved on"]);
    assert_eq!(run.record()["outcome"], "stopped");
    assert_eq!(run.record()["epoch"], 3);
    let (ran, run) = bench.train("reached", &["-s", "custom_hooks.0.stopping_threshold=1000.0"]);
    ran.expect(0).prints(&["val/loss has reached"]);
    assert_eq!(run.record()["epoch"], 1);
    let unclear = ["-s", "custom_hooks.0.monitor=train/lr"];
    let (ran, _) = bench.train("unclear", &unclear);
    ran.expect(4).says(&["not known whether a higher `train/lr` is better", "before_train"]);
    bench.trained("told", &[&unclear[..], &["-s", "custom_hooks.0.mode=max"]].concat());
}

#[test]
fn a_loss_that_is_no_number_ends_the_run_before_the_parameters_take_it_in() {
    let bench = bench("TerminateOnNaN", "");
    let (ran, run) = bench.train("run", &["-s", "optimizer.lr=1e38"]);
    ran.expect(4).says(&["the loss is ", "in iteration "]);
    assert!(run.checkpoints().is_empty());
}

#[test]
fn a_run_whose_time_is_up_stops_and_can_be_continued() {
    let bench = bench("Timer", "max_time = \"0.000001s\"\n");
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0).prints(&["has passed"]);
    assert_eq!((run.record()["iter"].as_u64(), run.checkpoints().len()), (Some(1), 1));
    let soon = "custom_hooks.0.max_time=soon";
    bench
        .run(["check", "config.toml", "-s", soon])
        .expect(2)
        .says(&["max_time: `soon` is not a duration"]);
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

/// The weights after the first and after the last epoch.
fn weights(run: &RunFolder) -> [std::collections::HashMap<String, Vec<f32>>; 2] {
    [2, 4].map(|iter| run.tensors(&format!("checkpoints/iter_{iter:07}/model.safetensors")))
}

#[test]
fn frozen_parameters_stay_as_they_are_until_they_are_freed() {
    let (run, _) = logged("FreezeUnfreezeHook", "params = [\"*bias\"]\nfreeze_at_epoch = 2\n");
    let [first, last] = weights(&run);
    for (name, before) in &first {
        assert_eq!(*before == last[name], name.ends_with("bias"), "{name}");
    }
    let bench = bench("FreezeUnfreezeHook", "params = [\"nothing.*\"]\n");
    let (ran, _) = bench.train("run", &[]);
    ran.expect(4).says(&["no parameter matches `nothing.*`"]);
}

#[test]
fn what_the_config_froze_learns_once_the_hook_frees_it() {
    let bench = bench("FreezeUnfreezeHook", "params = [\"*bias\"]\nunfreeze_at_epoch = 2\n");
    let run = bench.trained("run", &["-s", "train.freeze=['*bias']"]);
    let [first, last] = weights(&run);
    assert!(first.keys().any(|name| name.ends_with("bias")));
    assert!(first.iter().all(|(name, before)| *before != last[name]));
}

#[test]
fn layers_are_freed_from_the_last_one_on() {
    let (run, lines) = logged("GradualUnfreezing", "interval = 5\n");
    assert_eq!(lines, ["epoch 1: 1 of 2 layers are trainable"]);
    let [first, last] = weights(&run);
    let names = {
        let mut names: Vec<_> = first.keys().collect();
        names.sort();
        names
    };
    let learnt: Vec<_> = names.iter().filter(|name| first[**name] != last[**name]).collect();
    assert_eq!(learnt.len(), 2, "{names:?}: {learnt:?}");
}

#[test]
fn the_rate_test_leaves_a_picture_and_a_suggestion() {
    let bench = bench("LRFinder", "num_iters = 40\n[default_hooks]\ncheckpoint = false\n");
    let (ran, run) = bench.train("run", &["-s", "train.max_epochs=40"]);
    ran.expect(0).prints(&["the learning rate test is done"]);
    let svg = run.text("lr_finder.svg");
    assert!(svg.starts_with("<svg") && svg.contains("polyline"), "{svg}");
    let json: serde_json::Value = serde_json::from_str(&run.text("lr_finder.json")).unwrap();
    let rates: Vec<f64> =
        json["points"].as_array().unwrap().iter().map(|p| p["lr"].as_f64().unwrap()).collect();
    assert!((rates[0] / 1e-7 - 1.0).abs() < 1e-9, "{rates:?}");
    assert!(rates.windows(2).all(|pair| pair[1] > pair[0]), "{rates:?}");
}

#[test]
fn predictions_of_a_validation_lie_beside_their_labels() {
    let (run, _) = logged("PredictionWriter", "");
    let written = run.tensors("it-val.safetensors");
    assert_eq!(written["output"].len(), 8 * 3);
}

#[test]
fn the_schedule_is_stepped_by_the_hook_that_takes_it_over() {
    let more = "[default_hooks]\nlr = false\n[lr_scheduler]\ntype = \"StepLR\"\n";
    let bench = bench("LRScheduler", more);
    let run = bench.trained("run", &["-s", "train.max_epochs=3"]);
    let without = Bench::new("[lr_scheduler]\ntype = \"StepLR\"\n");
    let plain = without.trained("run", &["-s", "train.max_epochs=3"]);
    assert!((run.scalar("train/lr") - plain.scalar("train/lr")).abs() < 1e-15);
    assert!(run.scalar("train/lr") < 1e-3);
}

#[test]
fn an_anomaly_is_traced_to_its_operator_and_parameter() {
    let bench = bench("AutogradAnomalyDetectHook", "");
    let (ran, run) = bench.train("run", &["-s", "optimizer.lr=1e38"]);
    ran.expect(4)
        .says(&["in iteration 2 of epoch 1", "Backward0 is the first whose gradient is NaN"]);
    ran.says(&["is not finite"]);
    assert!(run.checkpoints().is_empty());
    let (ran, _) =
        bench.train("always", &["-s", "optimizer.lr=1e38", "-s", "custom_hooks.0.always=true"]);
    assert_ne!(ran.code, Some(0));
    ran.says(&["Backward0"]);
    bench.trained("fine", &[]);
}

#[test]
fn gradients_are_clipped_by_the_hook_as_by_the_config() {
    let by_hook = bench("OptimizerHook", "grad_clip = { max_norm = 0.01 }\n");
    let hook = by_hook.trained("run", &[]);
    let by_config = Bench::new("");
    let config = by_config.trained("run", &["-s", "train.clip_grad_norm=0.01"]);
    let model = "checkpoints/iter_0000004/model.safetensors";
    assert_eq!(hook.tensors(model), config.tensors(model));
    assert!(hook.scalar("train/grad_norm") > 0.01);
}

#[test]
fn batches_are_cut_as_the_epoch_asks_and_the_weights_are_the_same() {
    // SGD: Adam divides by the gradient's size, and makes a step of what rounding left of a gradient of 0.
    let sgd = ["-s", "optimizer.type=SGD", "-s", "optimizer.lr=0.1"];
    let cut = bench("GradientAccumulationScheduler", "scheduling = [[2, 4]]\n");
    let run = cut.trained("run", &sgd);
    assert_eq!(own_lines(&run), ["epoch 2: batches are split into 4"]);
    let without = Bench::new("");
    let plain = without.trained("run", &sgd);
    let model = "checkpoints/iter_0000004/model.safetensors";
    for (name, values) in plain.tensors(model) {
        for (plain, cut) in values.iter().zip(&run.tensors(model)[&name]) {
            // Four steps of a tenth of gradients of about 1, each a sum of some ten terms, in floats: 4 · 0.1 · 10 · 6e-8.
            assert!((plain - cut).abs() < 1e-6, "{name}: {plain} {cut}");
        }
    }
}

#[test]
fn a_summary_has_parameters_and_the_operations_of_a_forward_pass() {
    let (run, lines) = logged("ModelSummary", "");
    let log = run.text("log.txt");
    // 4 inputs, 8 hidden, 3 classes.
    assert!(log.contains("67 parameters in 4 tensors: 268 bytes"), "{log}");
    let flops = lines.iter().find(|line| line.contains("a forward pass of 4 samples")).unwrap();
    // Two products: 2 * 4 * (4 * 8 + 8 * 3) operations.
    assert!(flops.contains("448.000 FLOP") && flops.contains("112.000 FLOP a sample"), "{flops}");
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
fn the_momentum_moves_from_one_value_to_the_other() {
    let settings = "start = 0.5\nend = 0.8\n[default_hooks.logger]\ninterval = 1\n";
    let (run, _) = logged("MomentumSchedulerHook", settings);
    let lines = run.scalars();
    let moved: Vec<_> = lines.iter().filter_map(|line| line["train/momentum"].as_f64()).collect();
    assert_eq!(moved.len(), 4, "{lines:?}");
    for (found, wanted) in moved.iter().zip([0.5, 0.6, 0.7, 0.8]) {
        assert!((found - wanted).abs() < 1e-12, "{moved:?}");
    }
    // One that stays is the optimizer's own setting, bit for bit.
    let (held, _) = logged("MomentumSchedulerHook", "start = 0.5\nend = 0.5\n");
    let by_config = Bench::new("");
    let plain = by_config.trained("run", &["-s", "optimizer.betas=[0.5, 0.999]"]);
    assert_eq!(weights(&held), weights(&plain));
    assert_ne!(weights(&held), weights(&run));

    let without = bench("MomentumSchedulerHook", "");
    let (ran, _) = without.train("run", &["-s", "optimizer.type=Adagrad"]);
    ran.expect(4).says(&["no momentum to schedule"]);
}

#[test]
fn checkpoints_go_to_the_folder_of_choice_and_a_resume_finds_them() {
    let bench = Bench::new("[default_hooks.checkpoint]\ncheckpoint_dir = \"./ckpt\"\n");
    let run = bench.trained("run", &["-s", "train.max_epochs=1"]);
    assert!(bench.path("ckpt/iter_0000002/model.safetensors").is_file());
    for resume in ["run", "run/checkpoints/iter_0000002"] {
        bench.run(["train", "config.toml", "--resume", resume]).expect(0);
        assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"], "{resume}");
    }
    let args = ["train", "config.toml", "--resume", "run"];
    let elsewhere = ["-s", "default_hooks.checkpoint.checkpoint_dir=other", "--force"];
    let elsewhere = [&elsewhere[..], &["-s", "train.max_epochs=3"]].concat();
    bench.run(args.iter().chain(&elsewhere)).expect(4).says(&["do not change checkpoint_dir"]);
}

#[test]
fn the_first_iterations_of_every_start_are_not_timed() {
    let bench = Bench::new(
        "[default_hooks.logger]\ninterval = 1\n[[custom_hooks]]\ntype = \"ThroughputHook\"\nignored_steps = 2\n",
    );
    let long = ["-s", "data.train.samples=80"];
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

#[test]
fn the_rate_that_is_shown_is_that_of_the_largest_group() {
    // Of the four parameters one is in the first group, at a tenth of the rate, and three in the rest.
    let group = "[[optimizer.groups]]\nmatch = \"layers.0.bias\"\nlr_scale = 0.1\n";
    let bench = Bench::new("");
    let config = bench.read("config.toml");
    bench.write("config.toml", &config.replace("[train]", &format!("{group}[train]")));
    let (ran, run) =
        bench.train("run", &["-s", "optimizer.lr=0.5", "-s", "default_hooks.logger.interval=1"]);
    ran.expect(0).prints(&["  lr 0.5000"]);
    assert!((run.scalar("train/lr") - 0.5).abs() < 1e-12, "{}", run.scalar("train/lr"));
}

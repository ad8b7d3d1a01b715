//! Every parameter of the seeds' hooks is taken under its name, and does what it does there.
//!
//! What a config cannot express has no row: a logger, a model, a function. `None` is a key that is not written; such a
//! parameter is in the table with a valid value.

use crate::workbench::{Bench, RunFolder, hook, tensors};
use serde_json::Value as Json;
use std::fs;

/// A line for each seed's hook, with its parameters and the seed's defaults.
const PARAMETERS: &str = r#"
ColossalAI LossHook
ColossalAI AccuracyHook accuracy_func = "Accuracy"
ColossalAI ThroughputHook ignored_steps = 0; tflop_per_step = 0; use_local = false
ColossalAI LRSchedulerHook by_epoch = true; store_lr_in_state = true
ColossalAI LRSchedulerHook by_epoch = false
ColossalAI LogMetricByStepHook
ColossalAI LogMetricByEpochHook interval = 1
ColossalAI LogTimingByEpochHook interval = 1; log_eval = true; ignore_num_train_steps = 0
ColossalAI LogMemoryByEpochHook interval = 1; log_eval = true; report_cpu = false
ColossalAI TensorboardHook log_dir = "tb"; ranks = [0]; parallel_mode = "GLOBAL"
ColossalAI SaveCheckpointHook interval = 1; checkpoint_dir = "ckpt"; suffix = ""; save_by_iter = false
ColossalAI LoadCheckpointHook checkpoint_dir = "ckpt"; epoch = -1; finetune = false; strict = false; suffix = ""
LiBai IterationTimer warmup_iter = 3
LiBai LRScheduler
LiBai PeriodicCheckpointer period = 5000; max_iter = 10000; max_to_keep = 100; file_prefix = "model"
LiBai EvalHook eval_period = 5000
LiBai BestCheckpointer eval_period = 5000; val_metric = "val/Accuracy"; mode = "max"; file_prefix = "model_best"
LiBai PeriodicWriter period = 20; writers = ["CommonMetricPrinter", "JSONWriter", "TensorboardXWriter"]
Orca ModelCheckpoint filepath = ""; save_weights_only = false; by_epoch = true; interval = -1
Orca TensorBoardCallback log_dir = "tb"; freq = "epoch"
Orca TqdmCallback
Orca MaxstepsCallback max_step = 100
iMIX OptimizerHook grad_clip = { clip_norm_mode = "all", max_grad_l2_norm = 0.25, use_scale = true }
iMIX OptimizerHook grad_clip = { max_norm = 5.0, norm_type = 2 }
iMIX Fp16OptimizerHook grad_clip = { clip_norm_mode = "all", max_grad_l2_norm = 0.25, use_scale = true }; grad_scaler_config = { init_scale = 65536.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 2000 }
iMIX LRSchedulerHook
iMIX IterationTimerHook warmup_iter = 0
iMIX PeriodicLogger period = 20
iMIX CommonMetricLoggerHook max_iter = 100; max_epoch = 4
iMIX JSONLoggerHook
iMIX TensorboardLoggerHook work_dir = "runs"
iMIX CheckPointHook prefix = "MLP_Synthetic"; iter_period = 4; epoch_period = 1; max_num_checkpoints = 3
iMIX EvaluateHook eval_iter_period = 4; is_run_eval = true; eval_json_file = "eval_result.json"
iMIX EMAIterHook init_ema = true
iMIX EMAEpochHook
iMIX TextLoggerHook text = "hello"
iMIX MomentumSchedulerHook
iMIX AutogradAnomalyDetectHook mode = true
iMIX AutogradProfilerHook output_dir = "profile"
"#;

/// Seed, hook, and its parameters as lines of a config.
pub(crate) fn parameters() -> impl Iterator<Item = (&'static str, &'static str, String)> {
    PARAMETERS.trim().lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        (word(), word(), word().replace("; ", "\n"))
    })
}

/// The lines of a scalar: iteration and value.
fn values(run: &RunFolder, name: &str) -> Vec<(u64, f64)> {
    let value = |line: &Json| Some((line["iter"].as_u64()?, line.get(name)?.as_f64()?));
    run.scalars().iter().filter_map(value).collect()
}

/// The names beside the checkpoints, with what each one leads to.
fn names(run: &RunFolder) -> Vec<(String, String)> {
    let entries = fs::read_dir(run.path.join("checkpoints")).unwrap().flatten();
    let mut names: Vec<_> = entries
        .filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().into_string().unwrap(), target.to_str().unwrap().to_owned()))
        })
        .collect();
    names.sort();
    names
}

fn pair(name: &str, iter: u64) -> (String, String) {
    (name.to_owned(), format!("iter_{iter:07}"))
}

#[test]
fn every_parameter_of_a_seed_s_hook_passes_check_with_the_seed_s_default() {
    // One of them can have a role; all others of a seed fit into one run.
    let roles = ["OptimizerHook", "Fp16OptimizerHook", "LRSchedulerHook", "LRScheduler"];
    let mut runs: Vec<(&str, String)> = Vec::new();
    for (number, (seed, hook, parameters)) in parameters().enumerate() {
        let entry =
            format!("[[custom_hooks]]\nname = \"h{number}\"\ntype = \"{hook}\"\n{parameters}\n");
        match runs.last_mut().filter(|(last, _)| *last == seed && !roles.contains(&hook)) {
            Some((_, hooks)) => hooks.push_str(&entry),
            None => runs.push((seed, entry)),
        }
    }
    for (seed, hooks) in runs {
        let ran = Bench::new(&hooks).run(["check", "config.toml"]);
        assert_eq!(ran.code, Some(0), "{seed}\n{hooks}\n{}", ran.stderr);
    }
    let unknown = "[[custom_hooks]]\ntype = \"EvalHook\"\nno_such_key = 1\n";
    Bench::new(unknown).run(["check", "config.toml"]).expect(2).says(&["no_such_key"]);
}

#[test]
fn second_names_are_links_that_are_removed_with_their_checkpoint_and_can_be_resumed_from() {
    let bench = Bench::new(
        "[default_hooks]\ncheckpoint = false\n\
         [[custom_hooks]]\ntype = \"PeriodicCheckpointer\"\nperiod = 3\nmax_to_keep = 2\nfile_prefix = \"model\"\n\
         [[custom_hooks]]\ntype = \"BestCheckpointer\"\nval_metric = \"val/Accuracy\"\nfile_prefix = \"model_best\"\n",
    );
    let run = bench.trained("run", &["train.max_epochs=5"]);
    let best = run.text("checkpoints/best").trim().to_owned();
    let expected =
        [pair("model_0000009", 9), pair("model_0000010", 10), ("model_best".into(), best)];
    assert_eq!(names(&run), expected);
    assert_eq!(run.text("checkpoints/latest"), "iter_0000010\n");
    bench.run(["inspect", "run/checkpoints/model_0000009"]).expect(0).prints(&["iteration"]);
    bench.run(["runs", "."]).expect(0).prints(&["run", "completed"]);

    // A second name works like the checkpoint: the run resumes from it, and ends as before.
    let weights = run.model(10);
    let by_name = ["--resume", "run/checkpoints/model_0000009", "train.max_epochs=5"];
    bench.run([&["train", "config.toml"], &by_name[..]].concat()).expect(0);
    assert_eq!(run.model(10), weights);
    assert_eq!(names(&run).len(), 3);
}

#[test]
fn a_suffix_tells_two_kinds_of_checkpoints_apart_and_one_is_loaded_by_it() {
    let save = |suffix: &str, interval: u64| {
        format!(
            "[[custom_hooks]]\nname = \"s{suffix}\"\ntype = \"SaveCheckpointHook\"\ninterval = {interval}\n\
             checkpoint_dir = \"ckpt\"\nsuffix = \"-{suffix}\"\n"
        )
    };
    let hooks = format!("[default_hooks]\ncheckpoint = false\n{}{}", save("a", 2), save("b", 3));
    let bench = Bench::new(&hooks);
    let run = bench.trained("run", &["train.max_epochs=4"]);
    // The end of training is saved by both.
    let expected = [
        pair("iter_0000004-a", 4),
        pair("iter_0000006-b", 6),
        pair("iter_0000008-a", 8),
        pair("iter_0000008-b", 8),
    ];
    assert_eq!(names(&run), expected);

    let load = |epoch: i64, suffix: &str| {
        let more = format!(
            "[[custom_hooks]]\ntype = \"LoadCheckpointHook\"\ncheckpoint_dir = \"ckpt\"\nepoch = {epoch}\n\
             suffix = \"{suffix}\"\nfinetune = true\n"
        );
        bench.configure(&more);
        let name = format!("load{epoch}{suffix}");
        let (ran, tuned) = bench.train(&name, &["train.max_epochs=1", "optimizer.lr=0"]);
        (ran, tuned.path.join("checkpoints/iter_0000002/model.safetensors"))
    };
    let weights =
        |iter: u64| tensors(&bench.path(&format!("ckpt/iter_{iter:07}/model.safetensors")));
    let (ran, loaded) = load(-1, "-b");
    ran.expect(0);
    assert_eq!(tensors(&loaded), weights(8));
    let (ran, loaded) = load(3, "-b");
    ran.expect(0);
    assert_eq!(tensors(&loaded), weights(6));
    load(3, "-a").0.says(&["no checkpoint", "(epoch 3, named …-a)"]);
}

#[test]
fn a_filepath_is_folder_and_name_and_weights_alone_are_a_file() {
    let hook = |more: &str| {
        format!(
            "[default_hooks]\ncheckpoint = false\n[[custom_hooks]]\ntype = \"ModelCheckpoint\"\n{more}"
        )
    };
    let bench = Bench::new(&hook("filepath = \"ckpt/{epoch}-{iter}\"\ninterval = -1\n"));
    let run = bench.trained("run", &[]);
    assert_eq!(names(&run), [pair("epoch=1-iter=0000002", 2), pair("epoch=2-iter=0000004", 4)]);
    assert!(bench.path("ckpt/epoch=2-iter=0000004/model.safetensors").is_file());

    bench.configure(&hook("save_weights_only = true\nby_epoch = false\ninterval = 3\n"));
    let light = bench.trained("light", &[]);
    assert!(light.checkpoints().is_empty());
    assert_eq!(light.tensors("weights/iter_0000003.safetensors").len(), 4);
    assert_eq!(light.tensors("weights/iter_0000004.safetensors"), run.model(4));

    for (setting, why) in [
        ("filepath = \"ckpt/last\"", "the same for all"),
        ("prefix = \"a/b\"", "must not contain `/`"),
        ("suffix = \"/x\"", "must not contain `/`"),
    ] {
        bench.configure(&hook(setting));
        bench.check(&[]).expect(2).says(&["config.toml:", "ModelCheckpoint", why]);
    }
}

#[test]
fn libai_s_periods_are_iterations_and_its_best_looks_where_it_evaluates() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"EvalHook\"\neval_period = 3\n\
         [default_hooks]\nevaluate = false\n",
    );
    let run = bench.trained("run", &["train.max_epochs=4"]);
    let iters: Vec<u64> = values(&run, "val/loss").iter().map(|(iter, _)| *iter).collect();
    assert_eq!(iters, [3, 6, 8], "each third, and the last");

    // Evaluated after each epoch, looked at after iteration 4 and at the end alone.
    let bench = Bench::new(
        "[default_hooks]\ncheckpoint = false\n[[custom_hooks]]\ntype = \"BestCheckpointer\"\n\
         val_metric = \"val/loss\"\neval_period = 4\n",
    );
    let run = bench.trained("run", &["train.max_epochs=3"]);
    assert!(
        run.checkpoints()
            .iter()
            .all(|name| ["iter_0000004", "iter_0000006"].contains(&name.as_str()))
    );
    assert!(!run.checkpoints().is_empty());
}

#[test]
fn by_epoch_of_the_hook_says_what_the_schedule_counts() {
    let rates = |by_epoch: &str| {
        let bench = Bench::new(&format!(
            "[lr_scheduler]\ntype = \"CosineAnnealingLR\"\n[default_hooks]\nlr = false\nlogger = {{ interval = 1 }}\n\
             [[custom_hooks]]\ntype = \"LRSchedulerHook\"\n{by_epoch}\n"
        ));
        let run = bench.trained("run", &["train.max_epochs=3", "optimizer.lr=1.0"]);
        let rates = values(&run, "train/lr").into_iter().map(|(_, rate)| rate);
        rates.collect::<Vec<_>>()
    };
    let cosine = |part: f64| f64::midpoint(1.0, (std::f64::consts::PI * part).cos());
    let is = |found: &[f64], wanted: &[f64]| {
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        for (found, wanted) in found.iter().zip(wanted) {
            assert!((found - wanted).abs() < 1e-9, "{found} is not {wanted}");
        }
    };
    let by_iter: Vec<f64> = (0..6).map(|step| cosine(f64::from(step) / 6.0)).collect();
    let by_epoch: Vec<f64> = (0..6).map(|step| cosine(f64::from(step / 2) / 3.0)).collect();
    is(&rates(""), &by_iter);
    is(&rates("by_epoch = false"), &by_iter);
    is(&rates("by_epoch = true"), &by_epoch);
}

#[test]
fn accuracy_func_names_another_metric_and_an_unknown_one_is_refused() {
    let bench = Bench::new(&hook("AccuracyHook", "name = 'mine'\naccuracy_func = 'F1'"));
    let run = bench.trained("run", &[]);
    assert!(run.scalar("val/mine").is_finite());
    let named = "custom_hooks.mine.accuracy_func=Acuracy";
    let ran = bench.check(&[named]);
    ran.expect(2).says(&["Acuracy", "did you mean `Accuracy`"]);
}

#[test]
fn what_only_one_process_can_say_is_said_and_memory_of_the_machine_is_reported() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"TensorboardHook\"\nranks = [1, 2]\n\
         [[custom_hooks]]\ntype = \"LogMemoryByEpochHook\"\nreport_cpu = true\n\
         [[custom_hooks]]\ntype = \"ThroughputHook\"\nuse_local = true\n",
    );
    let run = bench.trained("run", &[]);
    assert!(!run.path.join("tb").exists(), "this process is number 0");
    let log = run.text("log.txt");
    assert!(log.contains("the machine has ") && log.contains("GiB in use"), "{log}");
    let percent = run.scalar("hook/LogMemoryByEpochHook/machine_memory_percent");
    assert!(percent > 0.0 && percent < 100.0, "{percent}");
    assert!(run.scalar("train/throughput") > 0.0);
}

#[test]
fn a_question_s_gradients_are_clipped_only_where_there_is_a_question() {
    let hook = "[[custom_hooks]]\ntype = \"OptimizerHook\"\n\
                grad_clip = { clip_norm_mode = \"question\", max_grad_l2_norm = 0.1 }\n";
    let (ran, _) = Bench::new(hook).train("run", &[]);
    ran.expect(4).says(&["question_embedding", "write \"all\""]);
}

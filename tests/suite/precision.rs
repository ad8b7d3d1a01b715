//! Training in 16 bits: overflows are skipped and backed off from, visibly, and a checkpoint keeps the scale. Training in 64 bits: every tensor
//! is a double.

use crate::workbench::{Bench, RunFolder, tensors, wide_tensors};
use crate::workshop::repository;
use safetensors::Dtype;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;

const EVERY_ITERATION: [&str; 1] = ["default_hooks.logger.interval=1"];

fn series(run: &RunFolder, name: &str) -> Vec<f64> {
    run.scalars().iter().filter_map(|line| line.get(name)?.as_f64()).collect()
}

fn weights(run: &RunFolder, iter: u64) -> Vec<f32> {
    let path = run.path.join(format!("checkpoints/iter_{iter:07}/model.safetensors"));
    tensors(&path).remove("layers.0.weight").unwrap().1
}

#[test]
fn an_overflow_in_fp16_skips_the_step_and_lowers_the_scale_until_steps_are_made() {
    let bench = Bench::new("[lr_scheduler]\ntype = \"LinearWarmupLR\"\nwarmup_steps = 4\n");
    let mut more = EVERY_ITERATION.to_vec();
    more.extend(["train.precision=fp16", "train.max_epochs=10"]);
    more.extend(["train.loss_scaler={init_scale=1e30, backoff_factor=0.001}"]);
    let run = bench.trained("run", &more);
    let (scales, skipped) = (series(&run, "train/loss_scale"), series(&run, "train/skipped_steps"));
    assert_eq!(scales.len(), 20, "one for each iteration: {scales:?}");
    assert!((scales[1] / scales[0] - 0.001).abs() < 1e-5, "{scales:?}");
    let total = skipped[19];
    assert!((3.0..15.0).contains(&total), "{skipped:?}");
    assert!(scales[19] > 1.0 && scales[19] < 1e10, "{scales:?}");
    let rates = series(&run, "train/lr");
    assert!((rates[0] - rates[1]).abs() < 1e-12, "the schedule waits for a step: {rates:?}");
    assert!(rates[19] > rates[0], "{rates:?}");
    assert_eq!(weights(&run, 2), weights(&run, 4), "two skipped epochs leave the weights alone");
    assert_ne!(weights(&run, 18), weights(&run, 20));
}

#[test]
fn a_checkpoint_in_fp16_keeps_the_loss_scale_and_one_in_fp32_has_none() {
    let bench = Bench::new("");
    for (precision, kept) in [("fp16", true), ("bf16", false), ("fp32", false)] {
        let run = bench.trained(precision, &[&format!("train.precision={precision}")]);
        let saved = run.path.join("checkpoints/iter_0000004/optimizer.safetensors");
        let scale = tensors(&saved).remove("loss_scaler.scale");
        assert_eq!(scale.map(|(_, values)| values), kept.then(|| vec![65536.0]), "{precision}");
        assert_eq!(series(&run, "train/loss_scale").is_empty(), !kept, "{precision}");
    }
}

#[test]
fn sixteen_bits_stay_close_to_thirty_two() {
    let bench = Bench::new("");
    let losses = |precision: &str| {
        let precision = format!("train.precision={precision}");
        let mut more = EVERY_ITERATION.to_vec();
        more.extend([&precision, "train.max_epochs=5", "optimizer.lr=0.01"]);
        let run = bench.trained(&precision.replace(['.', '='], "_"), &more);
        series(&run, "train/loss")
    };
    let exact = losses("fp32");
    for precision in ["bf16", "fp16"] {
        let found = losses(precision);
        assert_eq!((found.len(), exact.len()), (10, 10));
        for (found, exact) in found.iter().zip(&exact) {
            assert!((found - exact).abs() < 0.02, "{precision}: {found}, not {exact}");
        }
        assert_ne!(found, exact, "{precision} changes nothing");
    }
}

/// The hook in place of `train.precision`.
fn by_hook(settings: &str) -> Bench {
    Bench::new(&format!("[[custom_hooks]]\ntype = \"Fp16OptimizerHook\"\n{settings}"))
}

#[test]
fn the_fp16_hook_trains_as_the_config_does_bit_for_bit() {
    let rule = "{init_scale=1e12, backoff_factor=0.25, growth_interval=3}";
    let mut more = EVERY_ITERATION.to_vec();
    more.extend(["train.max_epochs=10"]);
    let with_hook =
        by_hook(&format!("grad_scaler_config = {rule}\ngrad_clip = {{ max_norm = 0.5 }}\n"));
    let hook = with_hook.trained("run", &more);
    let by_config = format!("train.loss_scaler={rule}");
    more.extend(["train.precision=fp16", &by_config, "train.clip_grad_norm=0.5"]);
    let without = Bench::new("");
    let config = without.trained("run", &more);
    let scales = series(&hook, "train/loss_scale");
    assert_eq!(scales, series(&config, "train/loss_scale"));
    let skipped = series(&hook, "train/skipped_steps");
    assert!(skipped[19] >= 2.0, "the first scales overflow: {skipped:?}");
    assert!(scales.windows(2).any(|pair| pair[1] > pair[0]), "and it grows again: {scales:?}");
    assert_eq!(weights(&hook, 20), weights(&config, 20));
    assert!(series(&hook, "train/grad_norm").iter().all(|norm| norm.is_finite()));
}

#[test]
fn a_fixed_scale_stays_and_a_checkpoint_keeps_one_that_moved() {
    let bench = by_hook("loss_scale = 512.0\n");
    let fixed = bench.trained("run", &EVERY_ITERATION);
    assert_eq!(series(&fixed, "train/loss_scale"), [512.0; 4]);

    let bench = by_hook("grad_scaler_config = { init_scale = 1e12, backoff_factor = 0.25 }\n");
    let whole = bench.trained("whole", &EVERY_ITERATION);
    let mut more = EVERY_ITERATION.to_vec();
    more.extend(["--until", "2"]);
    bench.trained("cut", &more);
    more.truncate(1);
    more.push("--resume");
    let cut = bench.trained("cut", &more);
    assert_eq!(series(&cut, "train/loss_scale"), series(&whole, "train/loss_scale"));
    assert_eq!(weights(&cut, 4), weights(&whole, 4));
}

#[test]
fn the_number_of_threads_is_in_the_record_of_the_run() {
    let bench = Bench::new("");
    let run = bench.trained("run", &["train.threads=2"]);
    assert_eq!(run.record()["threads"], 2);
}

const WIDE: [&str; 2] = [EVERY_ITERATION[0], "train.precision=fp64"];

/// Averages, a second pass in each step, and hooks and metrics that read gradients, outputs and losses.
const READERS: &str = "[[custom_hooks]]\ntype = \"EMAIterHook\"\nname = \"ema\"\n[[custom_hooks]]\ntype = \"SWAHook\"\n\
                       [[custom_hooks]]\ntype = \"GradNormHook\"\n[[custom_hooks]]\ntype = \"NaNGuard\"\ngrads = true\n\
                       [[custom_hooks]]\ntype = \"SamHook\"\n[[metrics]]\ntype = \"Loss\"\n[[metrics]]\ntype = \"TopK\"\n\
                       [[metrics]]\ntype = \"F1\"\n";

/// The bits of every float tensor of a file, as doubles. All have this type but the counters of optimizer steps.
fn bits(path: &Path, kind: Dtype) -> BTreeMap<String, Vec<u64>> {
    let numbers = wide_tensors(path).into_iter().map(|(name, (found, numbers))| {
        let is_counter = name.rsplit('.').next() == Some("step");
        assert!(found == kind || is_counter, "{name} of {} is {found:?}", path.display());
        (name, numbers.into_iter().map(f64::to_bits).collect())
    });
    numbers.collect()
}

/// The tensors of a checkpoint.
fn saved(run: &RunFolder, iter: u64, kind: Dtype) -> [BTreeMap<String, Vec<u64>>; 3] {
    let checkpoint = run.path.join(format!("checkpoints/iter_{iter:07}"));
    ["model", "optimizer", "hooks"]
        .map(|file| bits(&checkpoint.join(format!("{file}.safetensors")), kind))
}

#[test]
fn in_fp64_every_tensor_is_a_double_and_a_resumed_run_has_the_same_bits() {
    let bench = Bench::new(READERS);
    let clipped = [&WIDE[..], &["train.clip_grad_norm=0.5"]].concat();
    let whole = bench.trained("whole", &clipped);
    let wanted = saved(&whole, 4, Dtype::F64);
    assert!(wanted.iter().all(|tensors| !tensors.is_empty()), "{wanted:?}");
    assert!(!bits(&whole.path.join("ema.safetensors"), Dtype::F64).is_empty());
    for name in
        ["train/loss", "train/grad_norm", "val/loss", "val/Loss", "val/Accuracy", "val/TopK"]
    {
        let found = series(&whole, name);
        assert!(
            !found.is_empty() && found.iter().all(|value| value.is_finite()),
            "{name}: {found:?}"
        );
    }
    // A loss of doubles has digits that no float has.
    let finer_than_a_float = |loss: &f64| loss.to_bits().trailing_zeros() < 52 - 23;
    assert!(series(&whole, "train/loss").iter().any(finer_than_a_float));
    bench.trained("cut", &[&clipped[..], &["--until", "2"]].concat());
    let cut = bench.trained("cut", &[&clipped[..], &["--resume"]].concat());
    assert_eq!(saved(&cut, 4, Dtype::F64), wanted);
    assert_eq!(series(&cut, "train/loss"), series(&whole, "train/loss"));
}

#[test]
fn fp64_starts_from_the_values_of_fp32_and_stays_close_to_it() {
    let bench = Bench::new("");
    let still = ["optimizer.lr=0", "optimizer.weight_decay=0"];
    let start = |precision: &str| {
        let precision = format!("train.precision={precision}");
        bench.trained(&precision.replace(['.', '='], "_"), &[&still[..], &[&precision]].concat())
    };
    let (wide, narrow) =
        (saved(&start("fp64"), 4, Dtype::F64), saved(&start("fp32"), 4, Dtype::F32));
    assert_eq!(wide[0], narrow[0]);
    let losses = |more: &[&str], run| {
        series(&bench.trained(run, &[&EVERY_ITERATION, more].concat()), "train/loss")
    };
    let (wide, narrow) = (losses(&["train.precision=fp64"], "wide"), losses(&[], "narrow"));
    assert_ne!(wide, narrow);
    // Losses near 1 after a few steps of floats.
    assert!(
        wide.iter().zip(&narrow).all(|(wide, narrow)| (wide - narrow).abs() < 1e-5),
        "{wide:?} {narrow:?}"
    );
}

#[test]
fn a_checkpoint_changes_to_fp64_and_back_with_its_averages_and_a_warning() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"EMAIterHook\"\n[[custom_hooks]]\ntype = \"SWAHook\"\n",
    );
    bench.trained("run", &["--until", "2"]);
    let (ran, run) = bench
        .train("run", &["--resume", "train.precision=fp64", "train.max_epochs=3", "--until", "4"]);
    ran.expect(0).says(&["differs from the checkpoint: train.precision: \"fp64\" was \"fp32\""]);
    assert!(saved(&run, 4, Dtype::F64).iter().all(|tensors| !tensors.is_empty()));
    let (ran, run) = bench.train("run", &["--resume", "train.max_epochs=3"]);
    ran.expect(0).says(&["differs from the checkpoint: train.precision: \"fp32\" was \"fp64\""]);
    assert!(saved(&run, 6, Dtype::F32).iter().all(|tensors| !tensors.is_empty()));
}

#[test]
fn a_hook_cannot_change_the_precision_of_a_run_in_fp64() {
    let bench = by_hook("");
    bench.train("run", &WIDE).0.expect(4).says(&[
        "Fp16OptimizerHook",
        "the precision cannot change to or from fp64 during a run",
        "set train.precision in the config",
    ]);
}

#[test]
fn graphs_scripted_models_and_other_memory_formats_train_in_fp64() {
    let images = "[model]\ntype = \"ResNet\"\nstem = \"cifar\"\nwidth = 4\n";
    let scripted = repository().join("configs/models/digits_cnn.pt");
    let scripted = format!("[model]\ntype = \"TorchScript\"\npath = \"{}\"\n", scripted.display());
    let rest = "[data.train]\ntype = \"Digits\"\n[data.val]\ntype = \"Digits\"\nsplit = \"val\"\n\
                [loss]\ntype = \"CrossEntropy\"\n[optimizer]\ntype = \"AdamW\"\nlr = 0.01\n\
                [train]\nmax_iters = 6\nbatch_size = 32\nthreads = 1\n[[metrics]]\ntype = \"Accuracy\"\n";
    let losses = |model: &str, set: &str| {
        let bench = Bench::of(&format!("[plugins]\ndirs = [\"plugins\"]\n{model}{rest}"));
        let run = bench.trained("run", &[&WIDE[..], &[set]].concat());
        assert!(!saved(&run, 6, Dtype::F64)[0].is_empty());
        series(&run, "train/loss")
    };
    let eager = losses(images, "train.mode=eager");
    for set in ["train.mode=graph", "train.memory_format=channels_last", "train.memory_format=auto"]
    {
        for (found, wanted) in losses(images, set).iter().zip(&eager) {
            assert!((found - wanted).abs() < 1e-9, "{set}: {found}, not {wanted}");
        }
    }
    let learned = losses(&scripted, "train.mode=eager");
    assert!(learned.len() == 6 && learned[5] < learned[0], "{learned:?}");
}

#[test]
fn fp64_takes_eight_bytes_in_a_plan_and_in_predictions() {
    let bench = Bench::new("");
    let memory = |precision: &str| -> Json {
        let set = format!("train.precision={precision}");
        let ran = bench.run(["plan", "config.toml", "--ranks", "2", "--json", &set]);
        let plan = ran.expect(0).json();
        let memory = &plan["memory_bytes"];
        serde_json::json!([memory["parameters"], memory["gradients"]])
    };
    let (wide, narrow) = (memory("fp64"), memory("fp32"));
    assert_eq!(wide[0].as_u64(), narrow[0].as_u64().map(|bytes| 2 * bytes), "{wide} {narrow}");
    assert_eq!(wide[1].as_u64(), narrow[1].as_u64().map(|bytes| 2 * bytes), "{wide} {narrow}");
    bench.trained("run", &WIDE);
    for out in ["out.safetensors", "out.npy"] {
        let ran = bench.run(
            [&["predict", "config.toml", "--checkpoint", "run", "--out", out], &WIDE[..]].concat(),
        );
        ran.expect(0);
    }
    assert_eq!(wide_tensors(&bench.path("out.safetensors"))["output"].0, Dtype::F64);
    let npy = std::fs::read(bench.path("out.npy")).unwrap();
    assert!(npy.windows(5).any(|bytes| bytes == b"'<f8'"));
    let command = ["eval", "config.toml", "--checkpoint", "run", "train.precision=fp64"];
    bench.run(command).expect(0);
}

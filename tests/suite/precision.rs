//! Training in 16 bits: overflows are skipped and backed off from, visibly, and a checkpoint keeps the scale.

use crate::workbench::{Bench, RunFolder, tensors};

const EVERY_ITERATION: [&str; 2] = ["-s", "default_hooks.logger.interval=1"];

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
    more.extend(["-s", "train.precision=fp16", "-s", "train.max_epochs=10"]);
    more.extend(["-s", "train.loss_scaler={init_scale=1e30, backoff_factor=0.001}"]);
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
        let run = bench.trained(precision, &["-s", &format!("train.precision={precision}")]);
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
        more.extend(["-s", &precision, "-s", "train.max_epochs=5", "-s", "optimizer.lr=0.01"]);
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
    more.extend(["-s", "train.max_epochs=10"]);
    let with_hook =
        by_hook(&format!("grad_scaler_config = {rule}\ngrad_clip = {{ max_norm = 0.5 }}\n"));
    let hook = with_hook.trained("run", &more);
    let by_config = format!("train.loss_scaler={rule}");
    more.extend(["-s", "train.precision=fp16", "-s", &by_config, "-s", "train.clip_grad_norm=0.5"]);
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
    more.truncate(2);
    more.push("--resume");
    let cut = bench.trained("cut", &more);
    assert_eq!(series(&cut, "train/loss_scale"), series(&whole, "train/loss_scale"));
    assert_eq!(weights(&cut, 4), weights(&whole, 4));
}

#[test]
fn the_number_of_threads_is_in_the_record_of_the_run() {
    let bench = Bench::new("");
    let run = bench.trained("run", &["-s", "train.threads=2"]);
    assert_eq!(run.record()["threads"], 2);
}

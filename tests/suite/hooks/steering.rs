//! Hooks that change how a run trains: parameters, learning rate, gradients, batches.

use super::{bench, logged};
use crate::workbench::{Bench, RunFolder};

/// The weights after the first and after the last epoch.
fn weights(run: &RunFolder) -> [std::collections::HashMap<String, Vec<f32>>; 2] {
    [2, 4].map(|iter| run.model(iter))
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
    let epochs = "params = [\"*bias\"]\nfreeze_at_epoch = 2\nunfreeze_at_epoch = 1\n";
    let bench = self::bench("FreezeUnfreezeHook", epochs);
    let (ran, _) = bench.train("run", &[]);
    ran.expect(4).says(&["unfreeze_at_epoch = 1 must be greater than freeze_at_epoch = 2"]);
}

#[test]
fn what_the_config_froze_learns_once_the_hook_frees_it() {
    let bench = bench("FreezeUnfreezeHook", "params = [\"*bias\"]\nunfreeze_at_epoch = 2\n");
    let run = bench.trained("run", &["train.freeze=['*bias']"]);
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
    let (ran, run) = bench.train("run", &["train.max_epochs=40"]);
    ran.expect(0).prints(&["learning rate test complete"]);
    let svg = run.text("lr_finder.svg");
    assert!(svg.starts_with("<svg") && svg.contains("polyline"), "{svg}");
    let json = run.json("lr_finder.json");
    let rates: Vec<f64> =
        json["points"].as_array().unwrap().iter().map(|p| p["lr"].as_f64().unwrap()).collect();
    assert!((rates[0] / 1e-7 - 1.0).abs() < 1e-9, "{rates:?}");
    assert!(rates.windows(2).all(|pair| pair[1] > pair[0]), "{rates:?}");
}

#[test]
fn the_schedule_is_stepped_by_the_hook_that_takes_it_over() {
    let more = "[default_hooks]\nlr = false\n[lr_scheduler]\ntype = \"StepLR\"\n";
    let bench = bench("LRScheduler", more);
    let run = bench.trained("run", &["train.max_epochs=3"]);
    let without = Bench::new("[lr_scheduler]\ntype = \"StepLR\"\n");
    let plain = without.trained("run", &["train.max_epochs=3"]);
    assert!((run.scalar("train/lr") - plain.scalar("train/lr")).abs() < 1e-15);
    assert!(run.scalar("train/lr") < 1e-3);
}

#[test]
fn gradients_are_clipped_by_the_hook_as_by_the_config() {
    let by_hook = bench("OptimizerHook", "grad_clip = { max_norm = 0.01 }\n");
    let hook = by_hook.trained("run", &[]);
    let by_config = Bench::new("");
    let config = by_config.trained("run", &["train.clip_grad_norm=0.01"]);
    assert_eq!(hook.model(4), config.model(4));
    assert!(hook.scalar("train/grad_norm") > 0.01);
}

#[test]
fn batches_are_cut_as_the_epoch_asks_and_the_weights_are_the_same() {
    // SGD: Adam divides by the gradient's size, and makes a step of what rounding left of a gradient of 0.
    let sgd = ["optimizer.type=SGD", "optimizer.lr=0.1"];
    let cut = bench("GradientAccumulationScheduler", "scheduling = [[2, 4]]\n");
    let run = cut.trained("run", &sgd);
    assert_eq!(run.said("it"), ["epoch 2: batches are split into 4"]);
    let without = Bench::new("");
    let plain = without.trained("run", &sgd);
    for (name, values) in plain.model(4) {
        for (plain, cut) in values.iter().zip(&run.model(4)[&name]) {
            // Four steps of a tenth of gradients of about 1, each a sum of some ten terms, in floats: 4 · 0.1 · 10 · 6e-8.
            assert!((plain - cut).abs() < 1e-6, "{name}: {plain} {cut}");
        }
    }
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
    let plain = by_config.trained("run", &["optimizer.betas=[0.5, 0.999]"]);
    assert_eq!(weights(&held), weights(&plain));
    assert_ne!(weights(&held), weights(&run));

    let without = bench("MomentumSchedulerHook", "");
    let (ran, _) = without.train("run", &["optimizer.type=Adagrad"]);
    ran.expect(4).says(&["no momentum to schedule"]);
}

#[test]
fn the_rate_that_is_shown_is_that_of_the_largest_group() {
    // Of the four parameters one is in the first group, at a tenth of the rate, and three in the rest.
    let group = "[[optimizer.groups]]\nmatch = \"layers.0.bias\"\nlr_scale = 0.1\n";
    let bench = Bench::new("");
    bench.replace("[train]", &format!("{group}[train]"));
    let (ran, run) = bench.train("run", &["optimizer.lr=0.5", "default_hooks.logger.interval=1"]);
    ran.expect(0).prints(&["  lr 0.5000"]);
    assert!((run.scalar("train/lr") - 0.5).abs() < 1e-12, "{}", run.scalar("train/lr"));
}

/// Ten iterations an epoch.
const LONGER: [&str; 4] = ["-s", "data.train.samples=40", "-s", "train.max_epochs=4"];

#[test]
fn batches_are_cut_in_an_epoch_that_is_resumed() {
    let cut = bench("GradientAccumulationScheduler", "scheduling = [[1, 1], [2, 4]]\n");
    let verify = ["verify-resume", "config.toml", "--at", "13", "--steps", "4"];
    cut.run(verify.iter().chain(&LONGER)).expect(0).prints(&["identical: "]);
}

#[test]
fn a_rate_test_that_is_resumed_goes_on_with_its_curve() {
    let settings = "num_iters = 30\nearly_stop_threshold = 0.0\n";
    let bench = bench("LRFinder", settings);
    let verify = ["verify-resume", "config.toml", "--at", "13", "--steps", "4"];
    bench.run(verify.iter().chain(&LONGER)).expect(0).prints(&["identical: "]);
    let whole = bench.trained("whole", &LONGER);
    let (ran, cut) = bench.train("cut", &[&LONGER[..], &["--until", "13"]].concat());
    ran.expect(0);
    bench.train("cut", &[&LONGER[..], &["--resume"]].concat()).0.expect(0);
    assert_eq!(cut.text("lr_finder.json"), whole.text("lr_finder.json"));
    // A test that is complete stays so.
    bench.train("cut", &[&LONGER[..], &["--resume"]].concat()).0.expect(0);
    assert_eq!(cut.record()["iter"], 30);
    assert_eq!(cut.text("lr_finder.json"), whole.text("lr_finder.json"));
}

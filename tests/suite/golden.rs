//! Plugins that were built once against plugin-api 1.0.0 and 1.1.0 and are kept as files: they must run in every later host of
//! the major version. `fixtures/golden/README.md` says how they were made.

use crate::workbench::{Bench, RunFolder};
use crate::workshop::repository;
use std::fs;

#[test]
fn plugins_built_against_1_0_0_run_in_this_host() {
    let bench = Bench::new(
        r#"
[[custom_hooks]]
type = "GoldenHook"
momentum = 0.25
[[custom_hooks]]
type = "GoldenC"
[[metrics]]
type = "GoldenMetric"
[default_hooks.checkpoint]
iter_period = 1
"#,
    );
    for file in ["libgolden.so", "libgolden_c.so"] {
        let kept = repository().join("tests/fixtures/golden").join(file);
        fs::copy(kept, bench.path("plugins").join(file)).unwrap();
    }
    let run = bench.trained("run", &[]);

    // Hook and metric, tensors and operators, views, scalars and readings did what they do.
    let metric: Vec<_> = run.series("val/GoldenMetric");
    assert!((run.scalar("hook/GoldenHook/seen_metric") - metric[1]).abs() < 1e-12);
    assert!(run.scalar("hook/GoldenHook/output_mean").is_finite());
    assert!(run.scalar("hook/GoldenHook/distance") > 0.0);
    let (rust, c) = (run.scalar("hook/GoldenHook/grad_norm"), run.scalar("hook/GoldenC/grad_norm"));
    assert!((rust - c).abs() < 1e-5, "{rust} in Rust, {c} in C");

    // Files, state and log.
    let exported = run.tensors("golden.safetensors");
    let saved = run.tensors("checkpoints/iter_0000004/hooks.safetensors");
    assert_eq!(exported.len(), 4);
    assert!((0..4).all(|i| saved.contains_key(&format!("GoldenHook/shadow.{i}"))));
    assert!(run.text("log.txt").contains("GoldenHook: attached as GoldenHook"));

    // The state is restored.
    bench.run(["eval", "config.toml", "--checkpoint", "run"]).expect(0);
}

const EXTENSIONS: &str = r#"
[lr_scheduler]
type = "CosineAnnealingWarmupLR"
warmup_steps = 1
[[custom_hooks]]
type = "GoldenExtensions"
[[custom_hooks]]
type = "GoldenRole"
[default_hooks.checkpoint]
epoch_period = 0
"#;

#[test]
fn a_plugin_built_against_1_1_0_runs_in_this_host_with_every_extension_of_its_time() {
    let bench = Bench::new(EXTENSIONS);
    let kept = repository().join("tests/fixtures/golden/libgolden_1_1.so");
    fs::copy(kept, bench.path("plugins/libgolden_1_1.so")).unwrap();
    bench
        .run(["inspect", "plugins/libgolden_1_1.so"])
        .expect(0)
        .prints(&["ABI         1.1", "built with  hookrack-plugin-api 1.1.0"]);
    let run = bench.trained("run", &[]);
    let of = |name: &str| run.scalar(&format!("hook/GoldenExtensions/{name}"));

    // Parameters and their groups; history; metrics; a pass over 8 samples; a loss over 4.
    assert!((of("base_lr") - 1e-3).abs() < 1e-12, "{}", of("base_lr"));
    assert!((of("seen") - 4.0).abs() < 1e-12, "4 losses were put, {} seen", of("seen"));
    assert!(of("mean").is_finite() && (of("last") - run.scalar("train/loss")).abs() < 1e-9);
    assert!((of("accuracy") - run.scalar("val/Accuracy")).abs() < 1e-12);
    assert!((of("pass_rows") - 8.0).abs() < 1e-12 && (of("golden/weight") - 4.0).abs() < 1e-12);

    // A frozen parameter, accumulation, checkpoints with a second name, a trace, pictures.
    let [before, after] = [2, 4].map(|iter| run.model(iter));
    assert_eq!(before["layers.0.bias"], after["layers.0.bias"], "a frozen parameter has moved");
    assert_ne!(before["layers.0.weight"], after["layers.0.weight"]);
    assert!(run.path.join("checkpoints/golden-0000004").exists(), "{:?}", run.checkpoints());
    assert!(of("profiled") > 0.0 && run.text("golden_trace.json").contains("aten::addmm"));
    assert!(run.path.join("golden_events").read_dir().unwrap().next().is_some());
    // Two micro-batches for each of four iterations.
    assert!(run.text("log.txt").contains("GoldenRole: 8 backward passes"));

    // The state is restored.
    bench.trained("run", &["--resume", "train.max_epochs=3"]);
    assert!(run.text("log.txt").contains("GoldenRole: 12 backward passes"));
}

#[test]
fn a_plugin_in_c_built_against_1_1_0_runs_in_this_host_with_every_table_of_its_time() {
    let bench = Bench::new(
        "[lr_scheduler]\ntype = \"CosineAnnealingWarmupLR\"\nwarmup_steps = 1\n\
         [[custom_hooks]]\ntype = \"GoldenC11\"\n[default_hooks.checkpoint]\nepoch_period = 0\n",
    );
    let file = "libgolden_c_1_1.so";
    let kept = repository().join("tests/fixtures/golden").join(file);
    fs::copy(kept, bench.path("plugins").join(file)).unwrap();
    bench.run(["inspect", &format!("plugins/{file}")]).expect(0).prints(&["ABI         1.1"]);
    let sgd = ["optimizer={_delete_=true,type=\"SGD\",lr=0.01,momentum=0.9}"];
    let run = bench.trained("run", &sgd);

    // Each function of the tables was called; the count is saved, and restored.
    let calls = run.scalar("hook/GoldenC11/golden/calls");
    assert!(calls > 100.0, "{calls} calls");
    let [before, after] = [2, 4].map(|iter| run.model(iter));
    assert_eq!(before["layers.0.bias"], after["layers.0.bias"], "a frozen parameter has moved");
    assert_eq!(run.tensors("golden_c.safetensors").len(), 1);
    assert!(run.path.join("checkpoints/golden-c-0000004").exists(), "{:?}", run.checkpoints());
    assert!(run.text("golden_c_trace.json").contains("aten::addmm"));
    assert!(run.path.join("golden_c_events").read_dir().unwrap().next().is_some());
    let log = run.text("log.txt");
    assert!(log.contains("GoldenC11: begun") && log.contains("GoldenC11: ended"), "{log}");

    bench.trained("run", &["--resume", "train.max_epochs=3", sgd[0]]);
    assert!(run.scalar("hook/GoldenC11/golden/calls") > calls + 50.0);
}

#[test]
fn a_plugin_in_c_built_against_1_1_0_has_roles_a_state_with_tensors_and_a_metric() {
    let bench = Bench::new(
        "[lr_scheduler]\ntype = \"CosineAnnealingWarmupLR\"\nwarmup_steps = 1\n\
         [[custom_hooks]]\ntype = \"GoldenC11Roles\"\n[[metrics]]\ntype = \"GoldenC11Accuracy\"\n",
    );
    let file = "libgolden_c_1_1_roles.so";
    let kept = repository().join("tests/fixtures/golden").join(file);
    fs::copy(kept, bench.path("plugins").join(file)).unwrap();
    let run = bench.trained("run", &[]);
    let of = |run: &RunFolder, name: &str| run.scalar(&format!("hook/GoldenC11Roles/{name}"));

    // The roles did what the host does without them.
    let hooks = ["custom_hooks=[]", "metrics=[{type=\"Accuracy\"}]"];
    let plain = bench.trained("plain", &hooks);
    assert_eq!(run.model(4), plain.model(4));
    assert!((of(&run, "loss") - run.scalar("train/loss")).abs() < 1e-9);
    // After the last step of the schedule, which is below the rate of the last iteration.
    assert!((0.0..run.scalar("train/lr")).contains(&of(&run, "lr")));
    assert!((of(&run, "optimizer_steps") - 4.0).abs() < 1e-12);
    assert!((of(&run, "lr_steps") - 4.0).abs() < 1e-12, "{}", of(&run, "lr_steps"));

    // The metric in C has the values of the host's own, and merges as it must.
    let (own, host) = (run.scalar("val/GoldenC11Accuracy"), run.scalar("val/Accuracy"));
    assert!((own - host).abs() < 1e-12, "{own} in C, {host} in the host");
    assert!((run.scalar("val/GoldenC11Accuracy.samples") - 8.0).abs() < 1e-12);
    let library = format!("plugins/{file}");
    bench.run(["test-plugin", &library, "--case", "metric", "--case", "state"]).expect(0);

    // The tensor in the state is restored.
    bench.trained("run", &["--resume", "train.max_epochs=3"]);
    assert!((of(&run, "optimizer_steps") - 6.0).abs() < 1e-12);

    // Weights are loaded, by path and by the end of a second name.
    let first = run.model(6);
    let sum: f64 = first["layers.0.weight"].iter().map(|&it| f64::from(it)).sum();
    for suffix in ["", "golden-roles"] {
        let keys = format!("from=\"run\",suffix=\"{suffix}\"");
        let from = format!("custom_hooks=[{{type=\"GoldenC11Roles\",{keys}}}]");
        let name = format!("loaded{suffix}");
        let loaded = bench.trained(&name, &[&from, "train.max_epochs=1"]);
        assert!((of(&loaded, "weight") - sum).abs() < 1e-5, "{suffix}");
    }
}

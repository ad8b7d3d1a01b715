//! Plugins that were built once against plugin-api 1.0.0 and are kept as files: they must run in every later host of
//! the major version. `fixtures/golden/README.md` says how they were made.

use crate::workbench::Bench;
use crate::workshop::repository;
use std::os::unix::fs::symlink;

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
        symlink(kept, bench.path("plugins").join(file)).unwrap();
    }
    let run = bench.trained("run", &[]);

    // Hook and metric, tensors and operators, views, scalars and readings did what they do.
    let metric: Vec<_> =
        run.scalars().iter().filter_map(|line| line["val/GoldenMetric"].as_f64()).collect();
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

    // The state goes back in.
    bench.run(["eval", "config.toml", "--checkpoint", "run"]).expect(0);
}

//! Readers before writers: `plan`, `check` and `train` say so, whether a hook is built in or from a library.

use crate::workbench::{Bench, hook};

#[test]
fn a_reader_before_its_writer_is_warned_about_and_the_usual_order_is_not() {
    let bench = Bench::new(&hook("ThroughputHook", ""));
    for command in ["plan", "check"] {
        assert_eq!(bench.run([command, "config.toml"]).expect(0).stderr, "", "{command}");
    }
    // After the hook that writes the scalars.
    for command in ["plan", "check"] {
        let ran = bench.run([command, "config.toml", "custom_hooks.0.level=60"]);
        ran.expect(0).says(&[
            "`PeriodicLogger` (level 52) reads events before `ThroughputHook` (level 60) writes it at after_train_iter",
            "give `PeriodicLogger` a level above 60, or `ThroughputHook` one below 52",
        ]);
    }
    let (ran, _) = bench.train("run", &["custom_hooks.0.level=60"]);
    ran.expect(0).says(&["reads events before `ThroughputHook`"]);
}

#[test]
fn a_library_declares_what_it_reads_too() {
    // A metric writes at level 5: no reader of metrics runs earlier unless a config sets its level.
    let bench = Bench::new(&hook("WebhookHook", "url = 'http://127.0.0.1:9/'"));
    assert_eq!(bench.run(["plan", "config.toml"]).expect(0).stderr, "");
    let ran = bench.run(["plan", "config.toml", "custom_hooks.0.level=2"]);
    ran.expect(0).says(&["`WebhookHook` (level 2) reads events before `LossHook`"]);
    let bench = Bench::new(&hook("PrometheusHook", "port = 0\nlevel = 2"));
    let ran = bench.run(["plan", "config.toml"]);
    ran.expect(0).says(&["`PrometheusHook` (level 2) reads events before `LossHook`"]);
}

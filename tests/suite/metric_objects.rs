//! Hooks read the metrics of the run as objects: their description, and their value in the middle of an epoch.

use crate::workbench::Bench;

const METRICS: &str = "[[metrics]]\ntype = \"Accuracy\"\nname = \"Accuracy\"\nphase = [\"train\", \"val\"]\n\
     [[metrics]]\ntype = \"F1\"\nphase = [\"train\"]\n\
     [[metrics]]\ntype = \"BitsPerToken\"\nname = \"bits\"\nphase = [\"train\"]\n\
     [[metrics]]\ntype = \"SelfReader\"\nphase = [\"train\"]\n";

/// The tiny config with these metrics in place of its own.
fn bench(hooks: &str) -> Bench {
    let bench = Bench::new(hooks);
    bench.replace("[[metrics]]\ntype = \"Accuracy\"\n", METRICS);
    bench
}

#[test]
fn a_plugin_s_hook_knows_name_unit_and_direction_before_there_is_a_value() {
    let bench = bench("[[custom_hooks]]\ntype = \"MetricReader\"\n");
    let run = bench.trained("run", &[]);
    let lines = run.said("MetricReader");
    let known: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| line.contains(" is ")).collect();
    assert_eq!(
        known,
        [
            "train/Accuracy is Accuracy [] Some(true)",
            "val/Accuracy is Accuracy [] Some(true)",
            "train/F1 is F1 [] Some(true)",
            "train/bits is BitsPerToken [bit] Some(false)",
            "train/SelfReader is SelfReader [times] None",
        ]
    );
    // Batches have four samples: the value of the first is the epoch's value until the second.
    let numbers: Vec<Vec<f64>> = lines
        .iter()
        .filter(|line| line.contains("so far"))
        .map(|line| {
            let parts = line.split("Some(").skip(1).map(|part| part.split(')').next().unwrap());
            parts.map(|number| number.parse().unwrap()).collect()
        })
        .collect();
    assert_eq!(numbers.len(), 4);
    for epoch in numbers.chunks(2) {
        let [first, second] = epoch else { panic!("{numbers:?}") };
        assert!((first[0] - first[1]).abs() < 1e-12, "{numbers:?}");
        assert!((second[0] - f64::midpoint(first[1], second[1])).abs() < 1e-12, "{numbers:?}");
    }
    assert!(lines.iter().any(|line| line.starts_with("iteration 1: F1[] = ")), "{lines:?}");
    // A metric that reads itself gets an error, once per batch, and nothing breaks.
    assert!((run.scalar("train/SelfReader") - 2.0).abs() < 1e-12);
}

#[test]
fn built_in_hooks_show_units_and_what_an_epoch_comes_to_so_far() {
    let bench = bench(
        "[[custom_hooks]]\ntype = \"CommonMetricLoggerHook\"\ninterval = 1\n\
         [[custom_hooks]]\ntype = \"LogMetricByEpochHook\"\n",
    );
    let run = bench.trained("run", &[]);
    let lines = run.said("CommonMetricLoggerHook");
    assert_eq!(lines.len(), 4);
    assert!(
        lines.iter().all(|line| line.contains("  Accuracy 0.") || line.contains("  Accuracy 1."))
    );
    assert!(lines.iter().all(|line| line.contains(" bit  ")), "{lines:?}");
    assert!(run.said("LogMetricByEpochHook")[0].contains(" bit"));
}

#[test]
fn what_is_better_is_known_before_training_or_said_to_be_missing() {
    for hook in [
        "type = \"EarlyStoppingHook\"\nmonitor = \"train/SelfReader\"",
        "type = \"BestCheckpointer\"\nval_metric = \"train/SelfReader\"",
        "type = \"ModelCheckpoint\"\nsave_best = \"train/SelfReader\"",
    ] {
        let bench = bench(&format!("[[custom_hooks]]\n{hook}\n"));
        let (ran, run) = bench.train("run", &[]);
        ran.expect(4).says(&["`train/SelfReader`", "set mode = "]);
        assert!(run.checkpoints().is_empty(), "nothing was trained");
    }
}

//! What files have of a run's scalars: the values as they were put, each record whole, and none lost to a disk that is
//! full for a while.

use crate::event_files::shown;
use crate::faults;
use crate::workbench::{Bench, Ran, RunFolder, hook};

/// The loss at each iteration, as the config of two hooks has it: by the host, and by a hook of its own.
fn losses(run: &RunFolder) -> Vec<(u64, f64)> {
    let lines = run.scalars();
    let loss =
        |line: &serde_json::Value| Some((line["iter"].as_u64()?, line["train/loss"].as_f64()?));
    lines.iter().filter_map(loss).collect()
}

/// Forty iterations in one epoch.
const FORTY: [&str; 2] = ["data.train.samples=160", "train.max_epochs=1"];

#[test]
fn files_have_the_values_that_were_put_and_no_median_of_them() {
    let bench = Bench::new(&hook("TensorboardHook", ""));
    let each = bench.trained("each", &[&FORTY[..], &["default_hooks.logger.interval=1"]].concat());
    let all = losses(&each);
    assert_eq!(all.iter().map(|(iter, _)| *iter).collect::<Vec<_>>(), (1..=40).collect::<Vec<_>>());
    // The mean over the epoch is made of the same numbers, by another hook's arithmetic.
    let mean = all.iter().map(|(_, loss)| loss).sum::<f64>() / 40.0;
    assert!((each.scalar("train/loss_epoch") - mean).abs() < 1e-9);
    assert!(
        all.windows(2).all(|pair| pair[0].1.to_bits() != pair[1].1.to_bits()),
        "a median would stay"
    );

    // At an interval the last value is written, which is one of those.
    let some = bench.trained("some", &FORTY);
    assert_eq!(losses(&some), [all[19], all[39]]);
    // And with every value kept, the files are the same as if each iteration were a line on the console.
    let kept = bench.train("kept", &[&FORTY[..], &["default_hooks.logger.record=all"]].concat());
    kept.0.expect(0);
    assert_eq!(losses(&kept.1), all);
    let lines = kept.0.stdout.lines().filter(|line| line.starts_with("epoch 1/1  iter ")).count();
    assert_eq!(lines, 2, "{}", kept.0.stdout);
    let steps = |run: &RunFolder| shown(&run.path.join("tb"))["train/loss"].clone();
    assert_eq!(steps(&kept.1).len(), 40);
    assert_eq!(steps(&kept.1), steps(&each));
    assert_eq!(steps(&some), [steps(&each)[19].clone(), steps(&each)[39].clone()]);
}

#[test]
fn the_console_says_what_it_shows_a_median_of() {
    let bench = Bench::new("");
    let (ran, _) = bench.train("run", &["default_hooks.logger.interval=1"]);
    let said = "loss: median of the last 20 iterations; the files have the raw values";
    assert_eq!(
        ran.expect(0).stdout.lines().filter(|line| *line == said).count(),
        1,
        "{}",
        ran.stdout
    );
}

#[test]
fn a_run_that_is_resumed_has_every_value_once() {
    let keeps = ["default_hooks.logger.record=all"];
    let more = [&FORTY[..], &keeps].concat();
    let bench = Bench::new(&hook("TensorboardHook", ""));
    let whole = bench.trained("whole", &more);
    bench.trained("run", &[&more[..], &["--until", "17"]].concat());
    let run = bench.trained("run", &[&more[..], &["--resume"]].concat());
    assert_eq!(losses(&run), losses(&whole));
    let steps = |run: &RunFolder| shown(&run.path.join("tb"))["train/loss"].clone();
    assert_eq!(steps(&run), steps(&whole));
}

/// A hook that has the shell do something after an iteration.
fn shell(name: &str, iter: u64, command: &str) -> String {
    format!(
        "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"{name}\"\nfile = \"{name}_calls\"\nat = \"after_train_iter\"\n\
         iter = {iter}\nhow = \"shell\"\ncommand = \"{command}\"\n"
    )
}

/// Ten iterations with a line each and no checkpoint, while a file of the run directory cannot be written after the third.
fn full(fault: &str, file: &str, more: &str) -> (Bench, Ran, RunFolder) {
    let bench = Bench::new(&format!(
        "[default_hooks]\ncheckpoint = false\nlogger = {{ interval = 1 }}\n[[custom_hooks]]\ntype = \"TensorboardHook\"\n{}{more}",
        shell("fills", 3, "touch full")
    ));
    let config = bench.read("config.toml").replacen("samples = 8", "samples = 40", 1);
    bench.write("config.toml", &config.replace("max_epochs = 2", "max_epochs = 1"));
    let condition = bench.path("full");
    let faults =
        [("FAULT", fault), ("FAULT_IN", file), ("FAULT_WHILE", condition.to_str().unwrap())];
    let ran = Ran::from(faults::train(&bench, faults));
    let run = bench.folder("run");
    (bench, ran, run)
}

#[test]
fn a_disk_that_is_full_for_a_while_costs_no_record() {
    for fault in ["write-enospc", "write-short"] {
        for file in ["/metrics.json", "/tb/events.out.tfevents."] {
            let (_bench, ran, run) = full(fault, file, &shell("frees", 7, "rm -f full"));
            ran.expect(0);
            let iters: Vec<_> = losses(&run).iter().map(|(iter, _)| *iter).collect();
            assert_eq!(iters, (1..=10).collect::<Vec<_>>(), "{fault} {file}");
            let steps: Vec<_> =
                shown(&run.path.join("tb"))["train/loss"].iter().map(|(step, _)| *step).collect();
            assert_eq!(steps, iters, "{fault} {file}");
            let count = |words: &str| ran.stderr.matches(words).count();
            assert_eq!(count("records are kept in memory"), 1, "{}", ran.stderr);
            assert_eq!(count("can be written again"), 1, "{}", ran.stderr);
            assert_eq!(run.record()["outcome"], "completed");
        }
    }
}

#[test]
fn records_that_are_lost_at_the_end_fail_the_run_with_code_6() {
    for fault in ["write-enospc", "write-eio", "write-short"] {
        let (_bench, ran, run) = full(fault, "/metrics.json", "");
        ran.expect(6).says(&["records of the run are not in ", "metrics.json: "]);
        // The third line was written before; later ones are missing, and none is partial.
        let iters: Vec<_> = run.scalars().iter().map(|line| line["iter"].clone()).collect();
        assert_eq!(iters, [1, 2], "{fault}");
        assert_eq!(run.record()["outcome"], "failed");
        assert!(run.record()["why"].as_str().unwrap().contains("metrics.json"), "{}", run.record());
    }
}

#[test]
fn a_checkpoint_that_counts_on_records_which_cannot_be_written_is_not_made() {
    let bench = Bench::new("[default_hooks]\nlogger = { interval = 1 }\n");
    let ran = Ran::from(faults::train(
        &bench,
        [("FAULT", "write-enospc"), ("FAULT_IN", "/metrics.json")],
    ));
    ran.expect(6).says(&["error: could not write ", "metrics.json: No space left on device"]);
    assert_eq!(bench.folder("run").checkpoints(), [""; 0]);
}

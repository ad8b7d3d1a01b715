//! The values of evaluations and metrics, also if a validation is in the middle of an epoch or of a resume.

use crate::workbench::{Bench, RunFolder};
use serde_json::Value as Json;

/// A validation after each iteration, and a metric of both phases.
const MID_EPOCH: &str = "[[metrics]]\ntype = \"Loss\"\nname = \"mean\"\nphase = [\"train\", \"val\"]\n\
                         [default_hooks]\nevaluate = { eval_iter_period = 1 }\nlogger = { interval = 1 }\n";

fn last_of(run: &RunFolder, name: &str) -> f64 {
    run.record()["metrics"][name]["last"].as_f64().unwrap()
}

#[test]
fn a_validation_in_mid_epoch_leaves_what_training_has_gathered_alone() {
    let bench = Bench::new(MID_EPOCH);
    let run = bench.trained("run", &[]);
    // The hook of the loss keeps sums of its own.
    assert!((last_of(&run, "train/mean") - run.scalar("train/loss_epoch")).abs() < 1e-9);
    assert!((last_of(&run, "val/mean") - run.scalar("val/loss")).abs() < 1e-9);
    assert!((last_of(&run, "train/mean") - last_of(&run, "val/mean")).abs() > 1e-6);

    // A checkpoint in mid-epoch has the sums of each phase.
    bench.trained("cut", &["--until", "3"]);
    let cut = bench.trained("cut", &["--resume"]);
    for name in ["train/mean", "val/mean"] {
        assert!((last_of(&cut, name) - last_of(&run, name)).abs() < 1e-12, "{name}");
    }
}

#[test]
fn each_validation_has_a_line_in_the_file_of_choice_also_after_a_resume() {
    let bench = Bench::new(
        "[default_hooks]\nevaluate = { eval_iter_period = 1, interval = 0, eval_json_file = \"eval_result.json\" }\n",
    );
    let run = bench.trained("run", &[]);
    let lines = |run: &RunFolder| -> Vec<Json> {
        let text = run.text("eval_result.json");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let whole = lines(&run);
    let iters: Vec<_> = whole.iter().map(|line| line["iter"].as_u64().unwrap()).collect();
    assert_eq!(iters, [1, 2, 3, 4]);
    assert!((whole[3]["loss"].as_f64().unwrap() - run.scalar("val/loss")).abs() < 1e-12);
    assert!(whole[3]["Accuracy"].is_f64() && whole[3]["epoch"] == 2, "{whole:?}");
    // Gone back to the second iteration, it makes the last two once more.
    bench.run(["train", "config.toml", "--resume", "run/checkpoints/iter_0000002"]).expect(0);
    assert_eq!(lines(&run), whole);
}

#[test]
fn a_file_of_the_run_itself_is_not_written_to_by_a_hook() {
    let bench = Bench::new("");
    for own in ["metrics.json", "run.json", "config.toml", "checkpoints/latest", "./log.txt"] {
        let (ran, run) = bench.train(
            &own.replace(['/', '.'], "_"),
            &[&format!("default_hooks.evaluate.eval_json_file=\"{own}\"")],
        );
        let own = own.trim_start_matches("./");
        let says = format!("`{own}` is written by the run itself: choose another name");
        ran.expect(4).says(&["EvaluateHook", "failed at before_run", &says]);
        assert_eq!(run.record()["iter"], 0, "before any training");
    }
}

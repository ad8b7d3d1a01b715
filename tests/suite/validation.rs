//! When a run validates: once if it is due twice, and always at the end of training.

use crate::workbench::{Bench, RunFolder, faulty};

/// The iterations after which a run validated.
fn validated(run: &RunFolder) -> Vec<u64> {
    let lines = run.scalars();
    let at = |line: &serde_json::Value| {
        line["val/loss"].is_number().then(|| line["iter"].as_u64().unwrap())
    };
    lines.iter().filter_map(at).collect()
}

/// Six epochs of two iterations.
fn bench(evaluate: &str, more: &str) -> Bench {
    let bench = Bench::new(&format!("[default_hooks]\nevaluate = {{ {evaluate} }}\n{more}"));
    bench.replace("max_epochs = 2", "max_epochs = 6");
    bench
}

#[test]
fn a_validation_that_is_due_by_epoch_and_by_iteration_is_one() {
    let both = bench("interval = 1, eval_iter_period = 1", "");
    assert_eq!(validated(&both.trained("run", &[])), (1..=12).collect::<Vec<_>>());

    // The rate is 0, so nothing gets better: the first look sets the best value, three more find nothing better.
    let stopping =
        "[[custom_hooks]]\ntype = \"EarlyStoppingHook\"\nmonitor = \"val/loss\"\npatience = 3\n";
    let bench = bench("interval = 1, eval_iter_period = 2", stopping);
    let run = bench.trained("run", &["optimizer.lr=0.0"]);
    assert_eq!(validated(&run), [2, 4, 6, 8]);
    assert_eq!(run.record()["outcome"], "stopped");
}

#[test]
fn the_last_weights_are_validated_before_the_last_checkpoint() {
    for (evaluate, iters) in [
        ("interval = 4", vec![8, 12]),
        ("interval = 3", vec![6, 12]),
        ("interval = 0, eval_iter_period = 5", vec![5, 10, 12]),
        ("eval_period = 5", vec![5, 10, 12]),
        ("eval_period = 6", vec![6, 12]),
        ("interval = 100", vec![12]),
    ] {
        let bench = bench(evaluate, "");
        assert_eq!(validated(&bench.trained("run", &[])), iters, "{evaluate}");
    }
    // The best is chosen among them, and the last checkpoint has it.
    let best = bench("interval = 100", "checkpoint = { save_best = \"val/loss\" }\n");
    let run = best.trained("run", &[]);
    assert_eq!(run.text("checkpoints/best"), "iter_0000012\n");

    // By iterations the end is in the middle of an epoch.
    let bench = bench("interval = 2", "");
    bench.replace("max_epochs = 6", "max_iters = 7");
    assert_eq!(validated(&bench.trained("run", &[])), [4, 7]);
}

#[test]
fn a_run_that_does_not_come_to_its_end_or_validates_never_has_no_last_validation() {
    let stopped = bench("interval = 4", "");
    assert_eq!(validated(&stopped.trained("run", &["--until", "6"])), [0_u64; 0]);
    for off in ["is_run_eval = false", "interval = 0", "interval = 0, eval_iter_period = 0"] {
        let bench = bench(off, "");
        assert_eq!(validated(&bench.trained("run", &[])), [0_u64; 0], "{off}");
    }
}

#[test]
fn a_resumed_run_validates_as_one_that_was_never_interrupted() {
    let evaluate = "interval = 2, eval_iter_period = 3";
    let uncut = bench(evaluate, "");
    let whole = uncut.trained("run", &[]);
    assert_eq!(validated(&whole), [3, 4, 6, 8, 9, 12]);
    for until in ["2", "3", "4", "6", "8", "11"] {
        let bench = bench(evaluate, "");
        bench.trained("run", &["--until", until]);
        let run = bench.trained("run", &["--resume"]);
        assert_eq!(validated(&run), validated(&whole), "until {until}");
        assert_eq!(run.scalar("val/loss").to_bits(), whole.scalar("val/loss").to_bits());
    }
}

#[test]
fn a_signal_before_the_epoch_s_validation_leaves_it_to_the_resumed_run() {
    let evaluate = "interval = 2, eval_iter_period = 2";
    let uncut = bench(evaluate, "");
    let whole = validated(&uncut.trained("run", &[]));
    assert_eq!(whole, [2, 4, 6, 8, 10, 12]);
    for at in ["after_train_iter", "after_val_iter"] {
        let bench = bench(evaluate, &faulty("bad", at, "iter = 4\nhow = 'sigterm'"));
        let (ran, _) = bench.train("run", &[]);
        ran.expect(143);
        let run = bench.trained("run", &["--resume", "custom_hooks.bad.at=nowhere"]);
        assert_eq!(validated(&run), whole, "{at}");
    }
}

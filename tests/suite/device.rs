//! `train.device`: an available device is used, any other is an error at its line of the config.

use crate::workbench::{Bench, hook};

#[test]
fn a_device_that_is_not_there_is_refused_before_any_training() {
    let bench = Bench::new("");
    let (ran, run) = bench.train("run", &["train.device=cuda:99"]);
    ran.expect(2).says(&["`train.device`: cuda:99 cannot be used", "help: write \"cpu\""]);
    assert!(!run.path.exists(), "nothing is left on disk");
    bench.check(&["train.device=cuda:99"]).expect(2);
}

/// Trains and resumes with an average of the weights if there is a GPU, otherwise the error says what is missing.
#[test]
fn a_run_on_cuda_learns_or_says_why_it_cannot() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    let (ran, run) = bench.train("run", &["train.device=cuda", "train.precision=fp16"]);
    if ran.code == Some(0) {
        assert!(run.scalar("train/loss").is_finite());
        bench.trained("run", &["train.device=cuda", "train.max_epochs=3", "--resume"]);
    } else {
        ran.expect(2).says(&["`train.device`: cuda:0 cannot be used"]);
    }
}

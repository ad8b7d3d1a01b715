//! Hooks in a pipeline: they see one run, and what is on another stage is reported.

use super::{WIDE, alone, assert_same, bench, cases, launched, schedule, steps};
use crate::sharding::bits;
use crate::workbench::RunFolder;

/// Averages, norms and guards.
const HOOKS: &str = "[[custom_hooks]]\ntype = \"EMAIterHook\"\n[[custom_hooks]]\ntype = \"GradNormHook\"\n\
                     [[custom_hooks]]\ntype = \"NaNGuard\"\ngrads = true\n[[custom_hooks]]\ntype = \"SWAHook\"\n";

#[test]
fn hooks_see_a_pipeline_as_one_run() {
    let bench = bench(&cases()[3], HOOKS);
    for (number, (set, name, stages, more)) in [
        (&["train.precision=\"fp32\""][..], "OneFOneB", 2, &[][..]),
        (&["train.precision=\"fp16\""], "OneFOneB", 2, &[]),
        (&["train.precision=\"fp64\""], "OneFOneB", 2, &[]),
        (&["train.accumulate_grad_batches=2"], "Interleaved1F1B", 2, &["schedule.chunks=2"]),
        (&["train.accumulate_grad_batches=2", "train.precision=\"bf16\""], "GPipe", 4, &[]),
    ]
    .into_iter()
    .enumerate()
    {
        let what = format!("{set:?} with {name} on {stages} stages");
        let one = alone(&bench, &format!("one_{number}"), set);
        let run = format!("staged_{number}");
        launched(&bench, stages, &run, &schedule(name, stages, &[set, more].concat())).expect(0);
        let staged = bench.folder(&run);
        assert_same(&one, &staged, &what);
        for scalar in ["train/grad_norm", "train/loss_scale"] {
            assert_eq!(one.series(scalar), staged.series(scalar), "{what}: {scalar}");
        }
        assert_eq!(staged.series("train/grad_norm").len() as u64, steps(), "{what}");
    }
    let record = bench.folder("staged_0").record();
    let bubble = record["pipeline"]["bubble"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&bubble), "{record}");
    // As the schedule guarantees: the first stage is one micro-batch ahead.
    assert_eq!(record["pipeline"]["live_micro_batches"], serde_json::json!([2, 1]));
    assert!(bench.read("staged_0/pipeline.svg").starts_with("<svg"));
}

#[test]
fn hooks_of_copies_of_a_pipeline_log_what_those_of_one_process_log() {
    let bench = bench(&cases()[3], HOOKS);
    let one = alone(&bench, "one", &[WIDE]);
    let set = [WIDE, "optimizer.shard=true", "schedule.microbatches=2"];
    launched(&bench, 4, "copies", &schedule("OneFOneB", 2, &set)).expect(0);
    let copies = bench.folder("copies");
    let norms = [&one, &copies].map(|run| run.series("train/grad_norm"));
    assert_eq!(norms[0].len() as u64, steps());
    assert_eq!(norms[0].len(), norms[1].len());
    // Copies sum the same numbers in another order: a few units in the last place of a double in each step.
    let far = norms[0].iter().zip(&norms[1]).map(|(a, b)| (a - b).abs() / a);
    assert!(far.clone().all(|far| far < 1e-9), "{:?}", far.collect::<Vec<_>>());
    let averages = |run: &RunFolder| {
        let last = run.checkpoints().pop().unwrap();
        let hooks = bits(&run.path.join("checkpoints").join(last), "hooks");
        hooks.into_iter().map(|(name, bits)| (name, bits.len())).collect::<Vec<_>>()
    };
    assert_eq!(averages(&one), averages(&copies), "the averages of all parameters");
}

#[test]
fn a_loss_that_is_not_finite_on_the_last_stage_ends_all_stages() {
    let bench = bench(&cases()[0], HOOKS);
    let set = ["optimizer={_delete_=true,type=\"SGD\",lr=1e30}", "train.clip_grad_norm=0"];
    let ran = launched(&bench, 2, "run", &schedule("OneFOneB", 2, &set));
    // Only the last stage has the loss; the first one is told which rank failed, and why.
    ran.expect(4).says(&[
        "[1] ",
        "[0] ",
        "[0] error: rank 1 (",
        "hook `NaNGuard`",
        "the loss is ",
        " in iteration 2 of epoch 1",
    ]);
    assert_eq!(bench.folder("run").record()["outcome"], "failed");
}

#[test]
fn every_stage_is_profiled_and_the_first_one_writes_its_trace() {
    let hook = "[[custom_hooks]]\ntype = \"AutogradProfilerHook\"\nwait = 1\nactive = 2\n\
                row_limit = 1000\n";
    let bench = bench(&cases()[0], hook);
    launched(&bench, 2, "run", &schedule("OneFOneB", 2, &[])).expect(0);
    let traces: Vec<_> = bench.path("run/profile").read_dir().unwrap().flatten().collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    let trace = std::fs::read_to_string(traces[0].path()).unwrap();
    assert!(trace.contains("MainHook: on_iter_backward") && !trace.contains("cross_entropy"));
    let calls = |log: &str| {
        let log = bench.read(log);
        assert!(log.contains("all operators: "), "{log}");
        log.contains("cross_entropy")
    };
    // Only the last stage computes the loss.
    assert_eq!(["run/log.txt", "run/ranks/rank_1.log"].map(calls), [false, true]);
}

#[test]
fn a_hook_that_needs_the_output_runs_on_the_last_stage_and_is_told_so_elsewhere() {
    let bench = bench(&cases()[0], "[[custom_hooks]]\ntype = \"FocalLossHook\"\n");
    let asked = launched(&bench, 2, "asked", &schedule("OneFOneB", 2, &[]));
    asked.expect(5).says(&[
        "the output is on the last stage of the pipeline, and this rank has stage 0: set ranks = \"last_stage\"",
    ]);
    // The default hook takes over its role on the other stages.
    let set = ["custom_hooks.0.ranks=\"last_stage\""];
    launched(&bench, 2, "there", &schedule("OneFOneB", 2, &set)).expect(0);
    let one = alone(&bench, "one", &[]);
    assert_same(&one, &bench.folder("there"), "with a focal loss");
}

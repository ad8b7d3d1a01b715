//! What a pipeline prints: its stages, warnings, and errors before anything runs.

use super::{bench, cases, launched, schedule};

/// A schedule that watches a scalar which nobody logs, inside of another.
const PLATEAU: &str = "lr_scheduler={type=\"Warmup\",warmup_steps=2,by_epoch=true,\
                       schedule={type=\"ReduceLROnPlateau\",metric=\"val/los\"}}";

/// An MLP of four layers.
const FOUR: &str = "model.hidden=[32, 24, 16]";

#[test]
fn the_ranks_and_layers_of_each_stage_are_printed_at_the_start() {
    let bench = bench(&cases()[0], "");
    let set = schedule("Interleaved1F1B", 2, &["schedule.chunks=2", FOUR]);
    launched(&bench, 2, "run", &set).expect(0).prints(&[
        "[0] stage 0 on rank 0: layers.0; layers.2\n",
        "[0] stage 1 on rank 1: layers.1; layers.3\n",
    ]);
    assert!(bench.read("run/log.txt").contains("stage 1 on rank 1: "));
}

#[test]
fn what_cannot_be_divided_is_an_error_at_its_line_before_anything_runs() {
    let bench = bench(&cases()[0], "");
    let cases: [(usize, Vec<String>, &str); 9] = [
        (2, schedule("OneFOneB", 8, &[]), "2 ranks cannot be divided into pipelines of 8 stages"),
        (
            8,
            schedule("OneFOneB", 8, &[FOUR]),
            "8 stages need at least 8 layers, but the model has 4",
        ),
        (
            2,
            schedule("OneFOneB", 2, &["schedule.microbatches=5"]),
            "a batch of 32 cannot be divided into 5 micro-batches",
        ),
        (
            2,
            schedule("Interleaved1F1B", 2, &["schedule.chunks=3", FOUR]),
            "2 stages of 3 chunks need at least 6 layers",
        ),
        (
            2,
            schedule("OneFOneB", 2, &["train.mode=\"graph\""]),
            "this model cannot be split into stages",
        ),
        (
            2,
            schedule("OneFOneB", 2, &["parallel.data=2"]),
            "2 ranks with 2 stages each are 1 copies",
        ),
        (
            2,
            schedule("OneFOneB", 2, &["train.accumulation=2"]),
            "a pipeline splits each batch into microbatches: remove train.accumulation",
        ),
        (
            2,
            schedule("OneFOneB", 2, &["model.outputs=3"]),
            "`model.outputs`: the model has 3 outputs, but the labels have 10 classes",
        ),
        (2, schedule("OneFOneB", 2, &[PLATEAU]), "`lr_scheduler`: nothing logs `val/los`"),
    ];
    for (number, (ranks, set, wanted)) in cases.into_iter().enumerate() {
        let run = format!("run_{number}");
        launched(&bench, ranks, &run, &set).expect(2).says(&[wanted]);
        assert!(!bench.path(&run).join("checkpoints").exists(), "{wanted}");
    }
    // `launch` finds it before it starts a rank.
    let deep = schedule("OneFOneB", 4, &["model.hidden=[8]"]);
    let ran = launched(&bench, 4, "few", &deep);
    assert!(!ran.expect(2).stderr.contains("[0]"), "{}", ran.stderr);
    let set = schedule("OneFOneB", 2, &[]);
    let alone: Vec<&str> =
        ["train", "config.toml"].into_iter().chain(set.iter().map(String::as_str)).collect();
    bench.run(alone).expect(2).says(&[
        "a pipeline of 2 stages needs 2 ranks",
        "use `hookrack launch -n 2 -- train CONFIG`, or [schedule] type = \"NoPipeline\"",
    ]);
}

#[test]
fn batch_norms_in_a_pipeline_are_told_about_once_with_the_rows_that_they_see() {
    let bench = bench(&cases()[2], "");
    let told =
        "`bn1.running_mean`: batch normalization uses the statistics of each micro-batch of 8 rows";
    for split in ["params", "time"] {
        let set = schedule("OneFOneB", 2, &[&format!("schedule.split={split}")]);
        let ran = launched(&bench, 2, split, &set);
        ran.expect(0).says(&[told]);
        assert_eq!(ran.stderr.matches("batch normalization").count(), 1, "{}", ran.stderr);
    }
    let set = schedule("OneFOneB", 2, &[]);
    for command in ["check", "plan"] {
        let more: &[&str] = if command == "plan" { &["--schedule"] } else { &[] };
        let args = [command, "config.toml"].into_iter().chain(set.iter().map(String::as_str));
        bench.run(args.chain(more.iter().copied())).expect(0).says(&[told]);
    }
}

#[test]
fn the_copy_of_a_tied_parameter_is_memory_of_the_last_stage() {
    let bench = bench(&cases()[3], "");
    let layout = |name: &str| {
        let plan = ["plan", "config.toml", "--json", "--schedule", name, "train.accumulation=1"];
        let found = bench.run(plan).expect(0).json();
        found["layout"].as_array().unwrap().clone()
    };
    let sum = |rows: &[serde_json::Value], key: &str| -> u64 {
        rows.iter().map(|row| row[key].as_u64().unwrap()).sum()
    };
    let (whole, stages) = (layout("NoPipeline"), layout("OneFOneB"));
    assert_eq!(sum(&whole, "parameters"), sum(&stages, "parameters"));
    // The embedding of 256 bytes in 16 dimensions, and its gradient.
    let copy = sum(&stages, "memory_bytes") - sum(&whole, "memory_bytes");
    assert_eq!(copy, 2 * 256 * 16 * 4);
}

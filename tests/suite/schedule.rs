//! `hookrack plan --schedule`: the plan of a pipeline, without starting a rank.

use crate::workbench::{Bench, Ran};
use serde_json::{Value as Json, json};

/// An MLP of five layers on batches of 8.
const DEEP: [&str; 2] = ["model.hidden=[8, 8, 8, 8]", "train.batch_size=8"];

fn plan(bench: &Bench, args: &[&str]) -> Ran {
    bench.run([&["plan", "config.toml"], &DEEP[..], args].concat())
}

fn json(bench: &Bench, args: &[&str]) -> Json {
    let args = [args, &["--json"]].concat();
    plan(bench, &args).expect(0).json()
}

#[test]
fn every_schedule_gives_the_same_result_in_one_process() {
    let bench = Bench::new("");
    let split = bench.trained("split", &["train.accumulation=4"]);
    let sizes = ["schedule.stages=1", "schedule.microbatches=4"];
    for name in ["GPipe", "OneFOneB", "Interleaved1F1B"] {
        let kind = format!("schedule.type={name}");
        let run = bench.trained(name, &[sizes.as_slice(), &[&kind]].concat());
        assert_eq!(run.model(4), split.model(4), "{name}");
        for scalar in ["train/loss", "val/Accuracy", "val/loss"] {
            let values = [&run, &split].map(|run| run.scalar(scalar).to_bits());
            assert_eq!(values[0], values[1], "{name} {scalar}");
        }
    }
}

#[test]
fn a_schedule_is_planned_with_stages_layers_and_a_drawing() {
    let bench = Bench::new("");
    let four = ["schedule.microbatches=4"];
    let args = [&["--schedule", "OneFOneB", "--ranks", "2"], four.as_slice()].concat();
    plan(&bench, &args).expect(0).prints(&[
        "OneFOneB: 2 stages, 4 micro-batches of 2 rows, on 2 ranks\n",
        "bubble: 20.0 % with equal stages",
        "stage 0   f0 f1       b0--- f2 b1--- f3 b2---    b3---\n",
        "stage 1      f0 b0--- f1 b1--- f2 b2--- f3 b3---\n",
    ]);
    let found = json(&bench, &args);
    let row = |index: usize, key: &str| found["layout"][index][key].clone();
    // Layers of 4x8 + 8, three times 8x8 + 8, and 8x3 + 3 numbers: 40, 72, 72, 72 and 27.
    assert_eq!(row(0, "layers"), json!(["layers.0", "layers.1"]));
    assert_eq!([row(0, "parameters"), row(1, "parameters")], [json!(112), json!(171)]);
    assert_eq!([row(0, "ranks"), row(1, "ranks")], [json!([0]), json!([1])]);
    assert_eq!([row(0, "live_micro_batches"), row(1, "live_micro_batches")], [json!(2), json!(1)]);
    // Two rows of eight floats go from stage to stage; AdamW has two moments of each number and a count for each tensor.
    assert_eq!([row(0, "sent_bytes"), row(1, "sent_bytes")], [json!(64), json!(0)]);
    assert_eq!(row(0, "memory_bytes"), json!(112 * 16 + 4 * 4));
    assert!(row(0, "forward_seconds").as_f64().unwrap() > 0.0);
    assert!(!bench.path("runs").exists());
}

#[test]
fn every_schedule_has_its_bubble_and_its_live_micro_batches() {
    let bench = Bench::new("[schedule]\ntype = \"GPipe\"\nstages = 2\nmicrobatches = 8\n");
    for (name, bubble, live) in [("GPipe", 1.0 / 9.0, 8), ("OneFOneB", 1.0 / 9.0, 2)] {
        let found = json(&bench, &["--schedule", name]);
        assert!((found["bubble"].as_f64().unwrap() - bubble).abs() < 1e-12, "{name}");
        assert_eq!(found["layout"][0]["live_micro_batches"], live, "{name}");
    }
    let found = json(&bench, &["--schedule", "Interleaved1F1B"]);
    assert!((found["bubble"].as_f64().unwrap() - 1.0 / 17.0).abs() < 1e-12);
    assert_eq!(found["layout"].as_array().unwrap().len(), 4, "two chunks on each stage");
    // As configured, with two copies of the pipeline: neighbors in one are neighbors among all ranks.
    let found = json(&bench, &["--schedule", "--ranks", "4", "schedule.microbatches=4"]);
    let ranks = |index: usize| found["layout"][index]["ranks"].clone();
    assert_eq!((&found["schedule"], &found["rows"]), (&json!("GPipe"), &json!(1)));
    assert_eq!([ranks(0), ranks(1)], [json!([0, 2]), json!([1, 3])]);
}

#[test]
fn layers_are_divided_as_configured_and_drawn_as_svg() {
    let bench = Bench::new("");
    let args = ["--schedule", "GPipe", "schedule.split=[1, 4]", "--svg", "schedule.svg"];
    let found = json(&bench, &args);
    assert_eq!(found["layout"][0]["layers"], json!(["layers.0"]));
    let svg = std::fs::read_to_string(bench.path("schedule.svg")).unwrap();
    assert_eq!(svg.matches("class=\"bar\"").count(), 2 * 2 * 8);
    let args = ["--schedule", "GPipe", "schedule.split=time"];
    let layers = |index: usize| json(&bench, &args)["layout"][index]["layers"].clone();
    assert!(!layers(0).as_array().unwrap().is_empty() && !layers(1).as_array().unwrap().is_empty());
}

#[test]
fn activations_are_those_of_the_live_micro_batches_and_a_sharded_state_is_divided() {
    let bench = Bench::new("");
    let wide = ["model.hidden=[256, 256, 256]", "train.batch_size=512", "data.train.samples=512"];
    let planned = |name: &str, more: &[&str]| {
        json(&bench, &[&["--schedule", name], &wide[..], more].concat())["layout"].clone()
    };
    let bytes = |row: &Json, key: &str| row[key].as_u64().unwrap();
    let [gpipe, one] = ["GPipe", "OneFOneB"].map(|name| planned(name, &[]));
    // The first stage keeps the outputs of two layers, 64 rows of 256 floats, for two micro-batches: relu keeps its result alone.
    let outputs = 2 * 2 * 64 * 256 * 4;
    let [most, few] = [&gpipe[0], &one[0]].map(|row| bytes(row, "activation_bytes"));
    // Each tensor and each step of the graph has a few hundred bytes of its own.
    assert!((outputs..outputs + outputs / 8).contains(&few), "{few}");
    // Eight micro-batches are alive.
    assert!((4 * outputs..4 * outputs + outputs / 2).contains(&most), "{most}");
    assert_eq!(gpipe[0]["memory_bytes"], one[0]["memory_bytes"]);
    let shard = ["--ranks", "4", "schedule.stages=2", "optimizer.shard=true"];
    let sharded = planned("OneFOneB", &shard);
    let (whole, half) = (bytes(&one[0], "memory_bytes"), bytes(&sharded[0], "memory_bytes"));
    let state = whole - 8 * bytes(&one[0], "parameters");
    assert_eq!(half, whole - state / 2);
}

#[test]
fn the_plan_is_that_of_the_layout_that_a_config_is_written_for() {
    let bench = Bench::new(
        "[schedule]\ntype = \"OneFOneB\"\nmicrobatches = 2\n[parallel]\npipeline = 3\ndata = 2\n",
    );
    let found = json(&bench, &["--schedule"]);
    assert_eq!((&found["stages"], &found["data_parallel"]), (&json!(3), &json!(2)));
    assert_eq!(found["layout"][1]["ranks"], json!([1, 4]));
    assert_eq!(json(&bench, &["--schedule", "GPipe"])["stages"], 3);
    assert_eq!(json(&bench, &["--schedule", "NoPipeline"])["layout"][0]["ranks"], json!([0]));
    plan(&bench, &["--schedule", "--ranks", "3"])
        .expect(2)
        .says(&["`parallel.data`: 3 ranks with 3 stages each are 1 copies", "data = 2"]);
    plan(&bench, &["--schedule", "schedule.stages=2"])
        .expect(2)
        .says(&["`parallel.pipeline`: the schedule has 2 stages", "remove schedule.stages"]);
}

#[test]
fn check_finds_what_the_ranks_of_a_layout_would_find() {
    let bench = Bench::new("[schedule]\ntype = \"OneFOneB\"\nmicrobatches = 2\n");
    let check = |more: &[&str]| bench.run([&["check", "config.toml"], &DEEP[..], more].concat());
    check(&["parallel.data=2"]).expect(0).prints(&["config.toml is valid"]);
    for (set, wanted) in [
        (
            "parallel.data=3",
            "`data.train.batch_size`: a batch of 8 cannot be divided among 3 ranks",
        ),
        (
            "parallel.data=8",
            "a batch of 8 cannot be divided into 2 micro-batches of 8 data-parallel ranks",
        ),
        ("parallel.pipeline=6", "6 stages need at least 6 layers, but the model has 5"),
        ("distributed.fp16_compression=true", "`distributed.fp16_compression`: a pipeline sums"),
        ("schedule={type=\"NoPipeline\",_delete_=true}", "config.toml is valid"),
    ] {
        let ran = check(&[set]);
        let said = ran.stdout.clone() + &ran.stderr;
        assert!(said.contains(wanted), "{set}: {said}");
    }
    check(&["schedule={type=\"NoPipeline\",_delete_=true}", "parallel.pipeline=2"])
        .expect(2)
        .says(&["`parallel.pipeline`: the schedule has one stage", "choose a pipeline, such as"]);
}

#[test]
fn what_cannot_be_divided_is_an_error_at_its_line() {
    let bench = Bench::new("[schedule]\ntype = \"OneFOneB\"\nstages = 6\nmicrobatches = 3\n");
    let schedule = |args: &[&str]| plan(&bench, &[&["--schedule"], args].concat());
    schedule(&[]).expect(2).says(&[
        "`schedule.microbatches`: a batch of 8 cannot be divided into 3 micro-batches",
        "microbatches = 3",
        "use a batch size of 6 or 9, or another number of microbatches",
    ]);
    schedule(&["schedule.microbatches=4"]).expect(2).says(&[
        "`schedule.stages`: 6 stages need at least 6 layers, but the model has 5: layers.0, layers.1",
        "stages = 6",
    ]);
    schedule(&["--ranks", "8", "schedule.microbatches=4"])
        .expect(2)
        .says(&["8 ranks cannot be divided into pipelines of 6 stages"]);
    let two = ["schedule.microbatches=4", "schedule.stages=2"];
    let wrong = |key: &'static str| [two.as_slice(), &[key]].concat();
    schedule(&wrong("schedule.split=[1, 3]"))
        .expect(2)
        .says(&["`schedule.split`: the list must have 2 numbers above 0 with a sum of 5"]);
    schedule(&wrong("schedule.split=halves"))
        .expect(2)
        .says(&["must be \"params\", \"time\" or a list"]);
    schedule(&wrong("train.accumulation=2")).expect(2).says(&["remove train.accumulation"]);
    schedule(&wrong("train.mode=graph")).expect(2).says(&["cannot be split into stages"]);
    let ran = bench.run(["train", "config.toml", "schedule.microbatches=2"]);
    ran.expect(2).says(&["`schedule.stages`: a pipeline of 6 stages needs 6 ranks", "stages = 6"]);
}

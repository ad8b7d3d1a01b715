//! Pipelines train exactly as one process does with the same number of micro-batches. `cargo xtask pipeline` runs more steps and schedules.

use crate::ranks::{hookrack, values};
use crate::sharding::{Bits, bits, files};
use crate::workbench::{Bench, Ran, RunFolder};
use serde_json::Value as Json;

/// A model and its data.
struct Case {
    name: &'static str,
    model: &'static str,
    data: String,
}

fn images(split: &str) -> String {
    format!("type = \"Digits\"\nsplit = \"{split}\"\n")
}

fn text(split: &str) -> String {
    format!("type = \"Text\"\npath = \"text.txt\"\nsplit = \"{split}\"\ncontext = 32\n")
}

fn splits(of: fn(&str) -> String) -> String {
    format!("[data.train]\n{}drop_last = true\n[data.val]\n{}first = 28\n", of("train"), of("val"))
}

fn cases() -> [Case; 4] {
    let case = |name, model, data| Case { name, model, data };
    [
        case("mlp", "type = \"MLP\"\nhidden = [32, 24, 16]\n", splits(images)),
        case(
            "lenet",
            "type = \"LeNet\"\nkernel = 3\npadding = 1\nhidden = [24, 16]\n",
            splits(images),
        ),
        case("resnet", "type = \"ResNet\"\nstem = \"cifar\"\nwidth = 4\n", splits(images)),
        case("gpt", "type = \"GPT\"\nlayers = 3\nheads = 2\nwidth = 16\n", splits(text)),
    ]
}

/// Steps of each run; more in the long form.
fn steps() -> u64 {
    std::env::var("HOOKRACK_PIPELINE_STEPS").map_or(4, |steps| steps.parse().unwrap())
}

fn is_long() -> bool {
    std::env::var_os("HOOKRACK_PIPELINE_STEPS").is_some()
}

fn bench(case: &Case, more: &str) -> Bench {
    let (bench, Case { model, data, .. }) = (Bench::bare(), case);
    bench.write("text.txt", &"the quick brown fox jumps over the lazy dog. ".repeat(200));
    bench.write(
        "config.toml",
        &format!(
            "[plugins]\ndirs = [\"plugins\"]\n[model]\n{model}{data}[loss]\ntype = \"CrossEntropy\"\n\
             [optimizer]\ntype = \"AdamW\"\nlr = 0.003\n[train]\nmax_iters = {}\nbatch_size = 32\nthreads = 1\nseed = 1\n\
             clip_grad_norm = 0.5\n[default_hooks]\nlogger = {{ interval = 1 }}\n\
             [[metrics]]\ntype = \"Loss\"\n[[metrics]]\ntype = \"Accuracy\"\n{more}",
            steps()
        ),
    );
    bench
}

/// Settings of a schedule, for the command line.
fn schedule(name: &str, stages: usize, more: &[&str]) -> Vec<String> {
    let mut set = vec![
        "-s".to_owned(),
        format!("schedule.type={name}"),
        "-s".to_owned(),
        format!("schedule.stages={stages}"),
        "-s".to_owned(),
        "schedule.microbatches=4".to_owned(),
    ];
    set.extend(more.iter().flat_map(|set| ["-s".to_owned(), (*set).to_owned()]));
    set
}

fn launched(bench: &Bench, ranks: usize, run: &str, more: &[String]) -> Ran {
    let ranks = ranks.to_string();
    let mut args = vec!["launch", "-n", &ranks, "--", "train", "config.toml", "--run-dir", run];
    args.extend(more.iter().map(String::as_str));
    Ran::of(&mut hookrack(bench, &args))
}

fn alone(bench: &Bench, run: &str, more: &[&str]) -> RunFolder {
    bench.trained(run, &[&["-s", "train.accumulation=4"], more].concat())
}

fn saved(run: &RunFolder) -> [Bits; 2] {
    let last = run.checkpoints().pop().unwrap();
    let path = run.path.join("checkpoints").join(last);
    ["model", "optimizer"].map(|kind| bits(&path, kind))
}

const SCALARS: [&str; 6] =
    ["train/loss", "train/lr", "val/loss", "val/Loss", "val/Accuracy", "train/Accuracy"];

#[track_caller]
fn assert_same(one: &RunFolder, other: &RunFolder, what: &str) {
    assert_eq!(saved(one), saved(other), "{what}");
    for name in SCALARS {
        assert_eq!(values(one, name), values(other, name), "{what}: {name}");
    }
}

#[test]
fn stages_train_bit_for_bit_what_one_process_trains_in_as_many_micro_batches() {
    for case in cases() {
        let bench = bench(&case, "");
        let one = alone(&bench, "one", &[]);
        let two = [
            (2, "OneFOneB", 2, &[][..]),
            (2, "Interleaved1F1B", 2, &["schedule.chunks=2"]),
            (4, "GPipe", 4, &[]),
        ];
        let more = [(2, "GPipe", 2, &[][..]), (4, "OneFOneB", 4, &[])];
        // The long form runs every schedule with every model, the short one those that differ most.
        let all = two.iter().chain(more.iter().filter(|_| is_long()));
        for (number, (ranks, name, stages, set)) in all.enumerate() {
            if !is_long() && number == 2 && case.name != "gpt" {
                continue;
            }
            let run = format!("run_{number}");
            launched(&bench, *ranks, &run, &schedule(name, *stages, set)).expect(0);
            let run = RunFolder { path: bench.path(&run) };
            assert_same(&one, &run, &format!("{} with {name} on {stages} stages", case.name));
        }
    }
}

#[test]
fn copies_of_a_pipeline_share_each_batch_and_a_sharded_optimizer_changes_no_bit() {
    let bench = bench(&cases()[3], "[parallel]\npipeline = 2\ndata = 2\n");
    let plain = schedule("OneFOneB", 2, &[]);
    launched(&bench, 4, "plain", &plain).expect(0);
    launched(&bench, 4, "sharded", &schedule("OneFOneB", 2, &["optimizer.shard=true"])).expect(0);
    let [plain, sharded] = ["plain", "sharded"].map(|run| RunFolder { path: bench.path(run) });
    assert_same(&plain, &sharded, "sharded");
    let one = alone(&bench, "one", &["-s", "parallel={_delete_=true}"]);
    let (losses, others) = (values(&one, "train/loss"), values(&plain, "train/loss"));
    // Copies sum the same numbers in another order.
    let far = losses.iter().zip(&others).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(!losses.is_empty() && losses.len() == others.len() && far < 1e-5, "{far:e}");
    let optimizers = |run: &RunFolder| {
        let last = run.checkpoints().pop().unwrap();
        files(&run.path.join("checkpoints").join(last), "optimizer").len()
    };
    assert_eq!([&plain, &sharded].map(optimizers), [2, 4], "every rank writes its share");
}

#[test]
fn a_checkpoint_moves_between_layouts_with_the_state_of_hooks() {
    let bench = bench(&cases()[3], "[[custom_hooks]]\ntype = \"EMAIterHook\"\n");
    let until = ["--until", "3"].map(str::to_owned);
    let start = alone(&bench, "start", &["--until", "3"]);
    let place = |run: &str| bench.path(run).join("checkpoints/iter_0000003");
    let state = |run: &str| ["model", "optimizer", "hooks"].map(|kind| bits(&place(run), kind));
    let wanted = state("start");
    assert!(wanted[2].keys().any(|name| name.ends_with("average.transformer.wte.weight")));
    let mut from = start.path.join("checkpoints/iter_0000003");
    let none = || vec!["-s".to_owned(), "train.accumulation=4".to_owned()];
    let shard = ["optimizer.shard=true"];
    for (run, ranks, layout) in [
        ("a", 2, schedule("OneFOneB", 2, &[])),
        ("b", 4, schedule("GPipe", 2, &shard)),
        ("c", 4, none()),
        ("d", 2, schedule("Interleaved1F1B", 2, &["schedule.chunks=2"])),
        ("e", 1, none()),
    ] {
        let moved = ["--resume", from.to_str().unwrap(), "--save-at", "3"].map(str::to_owned);
        launched(&bench, ranks, run, &[&layout[..], &until, &moved].concat()).expect(0);
        assert_eq!(state(run), wanted, "{run}");
        from = place(run);
    }
    // Training from there equals a run that stayed in one layout.
    let resume = ["--resume", from.to_str().unwrap()].map(str::to_owned);
    launched(&bench, 2, "end", &[schedule("OneFOneB", 2, &[]), resume.to_vec()].concat()).expect(0);
    let stayed = alone(&bench, "stayed", &[]);
    assert_eq!(saved(&RunFolder { path: bench.path("end") }), saved(&stayed));
}

#[test]
fn hooks_see_a_pipeline_as_one_run() {
    let hooks = "[[custom_hooks]]\ntype = \"EMAIterHook\"\n[[custom_hooks]]\ntype = \"GradNormHook\"\n\
                 [[custom_hooks]]\ntype = \"NaNGuard\"\ngrads = true\n[[custom_hooks]]\ntype = \"SWAHook\"\n";
    let bench = bench(&cases()[3], hooks);
    for precision in ["fp32", "fp16"] {
        let precise = format!("train.precision=\"{precision}\"");
        let one = alone(&bench, &format!("one_{precision}"), &["-s", &precise]);
        let name = format!("two_{precision}");
        launched(&bench, 2, &name, &schedule("OneFOneB", 2, &[&precise])).expect(0);
        let two = RunFolder { path: bench.path(&name) };
        assert_same(&one, &two, precision);
        for scalar in ["train/grad_norm", "train/loss_scale"] {
            assert_eq!(values(&one, scalar), values(&two, scalar), "{precision}: {scalar}");
        }
        assert_eq!(values(&two, "train/grad_norm").len() as u64, steps());
    }
    let record = RunFolder { path: bench.path("two_fp32") }.record();
    let bubble = record["pipeline"]["bubble"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&bubble), "{record}");
    // As the schedule guarantees: the first stage is one micro-batch ahead.
    assert_eq!(record["pipeline"]["live_micro_batches"], serde_json::json!([2, 1]));
    assert!(bench.read("two_fp32/pipeline.svg").starts_with("<svg"));
}

#[test]
fn the_ranks_and_layers_of_each_stage_are_printed_at_the_start() {
    let bench = bench(&cases()[0], "");
    let set = schedule("Interleaved1F1B", 2, &["schedule.chunks=2"]);
    launched(&bench, 2, "run", &set).expect(0).prints(&[
        "[0] stage 0 on rank 0: layers.0; layers.2\n",
        "[0] stage 1 on rank 1: layers.1; layers.3\n",
    ]);
    assert!(bench.read("run/log.txt").contains("stage 1 on rank 1: "));
}

#[test]
fn averages_of_all_stages_are_exported_and_a_file_of_one_stage_is_reported() {
    let bench = bench(&cases()[3], "[[custom_hooks]]\ntype = \"EMAIterHook\"\nname = \"ema\"\n");
    let one = alone(&bench, "one", &[]);
    launched(&bench, 2, "two", &schedule("OneFOneB", 2, &[])).expect(0).says(&[
        "ema: ema.safetensors has only the parameters of stage 0 of 2; `hookrack export RUN` writes",
    ]);
    bench.run(["export", "two", "--what", "ema", "--to", "two.safetensors"]).expect(0);
    let two = crate::workbench::tensors(&bench.path("two.safetensors"));
    assert_eq!(crate::workbench::tensors(&one.path.join("ema.safetensors")), two);
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
    assert_same(&one, &RunFolder { path: bench.path("there") }, "with a focal loss");
}

#[test]
fn what_cannot_be_divided_is_an_error_at_its_line_before_anything_runs() {
    let bench = bench(&cases()[0], "");
    let cases: [(usize, Vec<String>, &str); 7] = [
        (2, schedule("OneFOneB", 8, &[]), "2 ranks cannot be divided into pipelines of 8 stages"),
        (8, schedule("OneFOneB", 8, &[]), "8 stages need at least 8 layers, but the model has 4"),
        (
            2,
            schedule("OneFOneB", 2, &["schedule.microbatches=5"]),
            "a batch of 32 cannot be divided into 5 micro-batches",
        ),
        (
            2,
            schedule("Interleaved1F1B", 2, &["schedule.chunks=3"]),
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
    ];
    for (number, (ranks, set, wanted)) in cases.into_iter().enumerate() {
        let run = format!("run_{number}");
        launched(&bench, ranks, &run, &set).expect(2).says(&[wanted]);
        assert!(!bench.path(&run).join("checkpoints").exists(), "{wanted}");
    }
    let set = schedule("OneFOneB", 2, &[]);
    let alone: Vec<&str> =
        ["train", "config.toml"].into_iter().chain(set.iter().map(String::as_str)).collect();
    bench.run(alone).expect(2).says(&[
        "a pipeline of 2 stages needs 2 ranks",
        "use `hookrack launch -n 2 -- train CONFIG`, or [schedule] type = \"NoPipeline\"",
    ]);
}

#[test]
fn export_eval_and_predict_read_a_checkpoint_of_stages() {
    let bench = bench(&cases()[0], "[data.test]\ntype = \"Digits\"\nsplit = \"val\"\n");
    let one = alone(&bench, "one", &[]);
    launched(&bench, 2, "two", &schedule("OneFOneB", 2, &[])).expect(0);
    for run in ["one", "two"] {
        let file = format!("{run}.safetensors");
        bench.run(["export", run, "--to", &file]).expect(0);
    }
    let [left, right] = ["one", "two"]
        .map(|run| crate::workbench::tensors(&bench.path(&format!("{run}.safetensors"))));
    assert_eq!(left, right);
    let evaluated = |run: &str| -> Json {
        let out = format!("{run}.json");
        bench.run(["eval", "config.toml", "--checkpoint", run, "--out", &out]).expect(0);
        serde_json::from_str(&bench.read(&out)).unwrap()
    };
    let [first, second] = ["one", "two"].map(evaluated);
    assert_eq!(first["metrics"], second["metrics"], "{first} {second}");
    assert_eq!(saved(&one).len(), 2);
}

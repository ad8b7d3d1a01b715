//! Which checkpoints are kept, what a hook loads, and the commands about runs: `export`, `runs`, `inspect`, `verify-resume`.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use crate::patience::{output, signal, until, wait};
use crate::workbench::{Bench, faulty, hook, run_in, tensors};
use crate::workshop::python_of;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Five epochs of two iterations.
const EPOCHS: [&str; 1] = ["train.max_epochs=5"];

#[test]
fn the_newest_and_every_nth_stay_and_no_other() {
    let bench = Bench::new(
        "[default_hooks]\ncheckpoint = { max_num_checkpoints = 2, keep_every_epochs = 2 }\n",
    );
    let run = bench.trained("run", &EPOCHS);
    assert_eq!(run.checkpoints(), ["iter_0000004", "iter_0000008", "iter_0000010"]);
    assert_eq!(run.text("checkpoints/latest"), "iter_0000010\n");
}

#[test]
fn the_best_checkpoint_is_marked_kept_and_not_lost_by_a_resume() {
    let bench = Bench::new(
        "[default_hooks]\ncheckpoint = { max_num_checkpoints = 1 }\n\
         [[custom_hooks]]\ntype = \"BestCheckpointer\"\nval_metric = \"val/Accuracy\"\nmode = \"max\"\n",
    );
    let run = bench.trained("run", &EPOCHS);
    let best = run.text("checkpoints/best");
    let mut expected = vec![best.trim().to_owned(), "iter_0000010".to_owned()];
    expected.dedup();
    assert_eq!(run.checkpoints(), expected);
    let values: Vec<(u64, f64)> = run
        .scalars()
        .iter()
        .filter_map(|line| Some((line["iter"].as_u64()?, line.get("val/Accuracy")?.as_f64()?)))
        .collect();
    let top = values.iter().map(|(_, value)| *value).fold(f64::MIN, f64::max);
    let first = values.iter().find(|(_, value)| (value - top).abs() < 1e-12).unwrap().0;
    assert_eq!(best, format!("iter_{first:07}\n"), "{values:?}");
    bench.train("run", &["--resume", "train.max_epochs=6"]).0.expect(0);
    assert!(run.checkpoints().contains(&run.text("checkpoints/best").trim().to_owned()));
}

#[test]
fn latest_and_best_are_as_good_as_the_checkpoints_that_they_name() {
    let bench = Bench::new("[default_hooks]\ncheckpoint = { save_best = \"val/loss\" }\n");
    // Nothing gets better at a rate of 0: the first is the best.
    let run = bench.trained("run", &["optimizer.lr=0"]);
    let [best, latest] = ["run/checkpoints/best", "run/checkpoints/latest"];
    for (path, iter) in [(best, "iteration   2 "), (latest, "iteration   4 ")] {
        bench.run(["inspect", path]).expect(0).prints(&[iter]);
        bench.run(["eval", "config.toml", "--checkpoint", path]).expect(0);
        bench.run(["export", path, "--to", "weights.pt"]).expect(0);
        let load_from = format!("train.load_from={path:?}");
        let more = ["train", "config.toml", "--fast-dev-run", &load_from];
        bench.run(more).expect(0).prints(&["4 loaded"]);
    }
    let fork = ["train", "config.toml", "--resume", best, "--run-dir", "fork"];
    bench.run(fork.iter().chain(&["optimizer.lr=0"])).expect(0);
    for resume in [best, latest] {
        let more = ["train", "config.toml", "--resume", resume, "train.max_epochs=3"];
        bench.run(more).expect(0);
        let from = run.record()["resumed_from"].as_str().unwrap().to_owned();
        assert!(from.ends_with(if resume == best { "iter_0000002" } else { "iter_0000006" }));
        assert_eq!(run.record()["iter"], 6);
    }
    // Any other file is none.
    for args in
        [&["eval", "config.toml", "--checkpoint"][..], &["train", "config.toml", "--resume"]]
    {
        let ran = bench.run(args.iter().chain(&["config.toml"]));
        ran.expect(2).says(&["error: no checkpoint at config.toml"]);
    }
}

#[test]
fn the_other_names_of_the_hook_are_the_same_hook() {
    for name in ["SaveCheckpointHook", "PeriodicCheckpointer", "ModelCheckpoint"] {
        let bench = Bench::new(&format!(
            "[default_hooks]\ncheckpoint = false\n[[custom_hooks]]\ntype = \"{name}\"\nperiod = 3\ninterval = 0\nmax_to_keep = 2\n"
        ));
        assert_eq!(
            bench.trained("run", &EPOCHS).checkpoints(),
            ["iter_0000009", "iter_0000010"],
            "{name}"
        );
    }
}

#[test]
fn a_hook_loads_weights_for_fine_tuning_or_a_whole_checkpoint() {
    let bench = Bench::new("");
    let other = bench.trained("other", &EPOCHS);
    let load = |settings: &str| {
        bench.configure(&hook(
            "LoadCheckpointHook",
            &format!("checkpoint_dir = 'other'\n{settings}"),
        ));
    };
    load("finetune = true\nepoch = 2");
    let tuned = bench.trained("tuned", &["optimizer.lr=0.0", "optimizer.weight_decay=0.0"]);
    assert_eq!(tuned.record()["iter"], 4, "it begins at the first epoch");
    assert_eq!(tuned.model(4), other.model(4));
    load("epoch = 3");
    let whole = bench.trained("whole", &EPOCHS);
    assert_eq!(whole.checkpoints(), ["iter_0000008", "iter_0000010"]);
    assert_eq!(whole.model(10), other.model(10));
    load("epoch = 9");
    bench.train("none", &EPOCHS).0.expect(2).says(&["no checkpoint at", "epoch 9"]);
}

/// The Python that has torch and safetensors, if any: `HOOKRACK_PYTHON`, else `python3`.
pub(crate) fn python() -> Option<String> {
    let program = std::env::var("HOOKRACK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found =
        output(Command::new(&program).args(["-c", "import torch, safetensors.torch"])).ok()?;
    found.status.success().then_some(program)
}

pub(crate) fn run_python(bench: &Bench, program: &str, script: &str) -> String {
    let mut python = Command::new(program);
    let ran = output(python.args(["-c", script]).current_dir(bench.path("."))).unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

#[test]
fn python_reads_a_checkpoint_and_an_export_and_computes_the_same_outputs() {
    let Some(python) = python() else {
        println!("SKIPPED: no Python with torch and safetensors; set HOOKRACK_PYTHON to one");
        return;
    };
    let bench = Bench::new(&hook("EMAIterHook", "evaluate = false"));
    let run = bench.trained("run", &[]);
    bench.write("x.csv", "a,b,c,d,label\n0.5,-1,2,0,0\n1,1,1,1,1\n-3,0.25,0,7,2\n");
    let synthetic =
        "[data.pred]\ntype = \"Synthetic\"\nsamples = 8\nshape = [4]\nclasses = 3\nseed = 7\n";
    let csv = "[data.pred]\ntype = \"Csv\"\npath = \"x.csv\"\nlabel = \"label\"\n";
    bench.write("predict.toml", &bench.read("config.toml").replace(synthetic, csv));
    bench
        .run(["predict", "predict.toml", "--checkpoint", "run", "--out", "out.safetensors"])
        .expect(0);
    bench.run(["export", "run", "--to", "model.pt"]).expect(0);
    bench.run(["export", "run", "--what", "ema", "--to", "ema.pt"]).expect(0);
    let check = format!(
        "CHECKPOINT = 'run/checkpoints/iter_0000004'\n{}\n\
         x = torch.tensor([[0.5, -1, 2, 0], [1, 1, 1, 1], [-3, 0.25, 0, 7]])\n\
         predicted = load_file('out.safetensors')['output']\n\
         # Sums of up to eight products of numbers up to 7, in floats.\n\
         assert torch.allclose(model(x), predicted, rtol=1e-5, atol=1e-5), (model(x), predicted)\n\
         exported = torch.load('model.pt', weights_only=True)\n\
         assert sorted(exported) == sorted(weights), list(exported)\n\
         assert all(torch.equal(exported[k], weights[k]) for k in weights)\n\
         ema = torch.load('ema.pt', weights_only=True)\n\
         shadow = load_file('run/EMAIterHook.safetensors')\n\
         assert all(torch.equal(ema[k], shadow[k]) for k in shadow), 'ema'\n\
         print(tuple(predicted.shape))",
        python_of("docs/checkpoints.md")
    );
    assert_eq!(run_python(&bench, &python, &check), "(3, 3)");
    assert_eq!(run.checkpoints().len(), 2);
}

#[test]
fn runs_are_listed_with_state_iteration_and_best() {
    let bench = Bench::new("");
    bench.trained("runs/one", &[]);
    bench.run(["runs"]).expect(0).prints(&[
        "run",
        "state",
        "one",
        "completed",
        "4",
        "val/Accuracy",
    ]);
    bench.run(["runs", "plugins"]).expect(0).prints(&["no runs in plugins"]);
}

#[test]
fn a_run_that_was_killed_or_is_alive_is_listed_with_what_it_has_reached() {
    // In the third iteration, when the checkpoint of the second is in its place.
    let command =
        "until test -e runs/cut/checkpoints/latest; do sleep 0.01; done; kill -KILL $PPID";
    let dies = format!("iter = 3\nhow = 'shell'\ncommand = '{command}'");
    let bench = Bench::new(&faulty("bad", "after_train_iter", &dies));
    let (ran, run) = bench.train("runs/cut", &[]);
    assert_eq!(ran.code, None, "it was killed");
    let listed = |state: &str| {
        let out = bench.run(["runs"]).expect(0).stdout.clone();
        let words: Vec<_> = out.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words[..4], ["cut", state, "2", "val/Accuracy"], "{out}");
    };
    listed("killed");
    let _lock = run.lock();
    listed("running");
}

#[test]
fn the_two_best_stay_beside_the_newest() {
    let bench = Bench::new(
        "[default_hooks]\ncheckpoint = { max_num_checkpoints = 1, save_best = \"val/Loss\", top_k = 2 }\n\
         [[metrics]]\ntype = \"Loss\"\n",
    );
    let run = bench.trained("run", &EPOCHS);
    let scalars = run.scalars();
    let point =
        |line: &serde_json::Value| Some((line.get("val/Loss")?.as_f64()?, line["iter"].as_u64()?));
    let mut values: Vec<_> = scalars.iter().filter_map(point).collect();
    assert_eq!(values.len(), 5);
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut expected: Vec<_> = values[..2].iter().map(|(_, iter)| *iter).chain([10]).collect();
    expected.sort_unstable();
    expected.dedup();
    let names: Vec<_> = expected.iter().map(|iter| format!("iter_{iter:07}")).collect();
    assert_eq!(run.checkpoints(), names);
    assert_eq!(run.text("checkpoints/best"), format!("iter_{:07}\n", values[0].1));
}

#[test]
fn a_checkpoint_may_be_due_by_time() {
    let bench =
        Bench::new("[default_hooks]\ncheckpoint = { epoch_period = 0, time_period = 1e-6 }\n");
    let all = bench.trained("run", &[]).checkpoints();
    assert_eq!(all, ["iter_0000001", "iter_0000002", "iter_0000003", "iter_0000004"]);
    let hours = bench.trained("hours", &["default_hooks.checkpoint.time_period=3600"]);
    assert_eq!(hours.checkpoints(), ["iter_0000004"], "the end of training");
}

#[test]
fn a_checkpoint_is_shown_without_its_tensors() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    bench.trained("run", &[]);
    let shown = [
        "iteration   4 (2 in the epoch)",
        "requested by CheckPointHook",
        "library     ema 0.1.0",
        "model.safetensors",
        "F32",
        "EMAIterHook",
    ];
    bench.run(["inspect", "run/checkpoints/iter_0000004"]).expect(0).prints(&shown);
    bench.run(["inspect", "run/checkpoints"]).expect(0).prints(&shown);
    // A run directory shows the run too.
    let ran = bench.run(["inspect", "run"]);
    ran.expect(0).prints(&shown).prints(&["state       completed", "best        val/Accuracy "]);
    fs::remove_dir_all(bench.path("run/checkpoints")).unwrap();
    bench.run(["inspect", "run"]).expect(0).prints(&["completed", "checkpoints none"]);
    bench.run(["inspect", "plugins"]).expect(2).says(&["no checkpoint at plugins"]);
}

#[test]
fn a_run_that_crashed_is_listed_as_such_and_no_name_controls_the_terminal() {
    let bench = Bench::bare();
    let run = |name: &str, crash: Option<&str>| {
        let folder = bench.path("runs").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("run.json"), "{\"outcome\": \"running\"}").unwrap();
        let crash = crash.map(|why| format!("{{\"message\": \"{why}\"}}"));
        if let Some(report) = crash {
            fs::write(folder.join("crash.json"), report).unwrap();
        }
    };
    run("cut", None);
    run("fallen", Some("segmentation fault in libx.so"));
    run("x\n\u{1b}[31mred", None);
    let listed = bench.run(["runs"]).expect(0).stdout.clone();
    let rows: Vec<Vec<&str>> =
        listed.lines().skip(1).map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(
        rows,
        [["cut", "killed"], ["fallen", "crashed"], ["x\\n\\u{1b}[31mred", "killed"]],
        "{listed}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&bench.run(["runs", "--json"]).expect(0).stdout).unwrap();
    assert_eq!(json[1]["why"], "segmentation fault in libx.so");
    bench
        .run(["inspect", "runs/fallen"])
        .expect(0)
        .prints(&["state       crashed", "why         segmentation fault in libx.so"]);
}

#[test]
fn runs_are_listed_for_a_program_too() {
    let bench = Bench::new("");
    bench.trained("runs/a", &[]);
    bench.trained("runs/b", &["--until", "3"]);
    let listed = bench.run(["runs", "--json"]);
    let runs = listed.expect(0).json();
    let [a, b] = runs.as_array().unwrap().as_slice() else { panic!("{runs}") };
    assert_eq!(
        (&a["name"], &a["state"], &a["iter"]),
        (&"a".into(), &"completed".into(), &4.into())
    );
    assert_eq!((&b["state"], &b["iter"], &b["epoch"]), (&"stopped".into(), &3.into(), &2.into()));
    assert!(a["best"]["val/Accuracy"].is_f64() && a["path"].as_str().unwrap().ends_with("runs/a"));
    assert!(a["why"].is_null() && b["why"].as_str().unwrap().contains("--until"), "{b}");
    fs::create_dir(bench.path("empty")).unwrap();
    assert_eq!(bench.run(["runs", "empty", "--json"]).expect(0).stdout, "[]\n");
    bench.run(["runs", "none"]).expect(2).says(&["error: no directory none: "]);
}

#[test]
fn a_resume_is_proved_for_a_config_with_a_plugin() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    let proved = run_in(
        &bench.path("."),
        [
            "verify-resume",
            "config.toml",
            "--at",
            "3",
            "--steps",
            "1",
            "default_hooks.logger.interval=1",
        ],
    );
    proved.expect(0).prints(&["identical: ", "bit for bit"]);
}

#[test]
fn a_hook_that_forgets_what_it_counted_is_found_and_named() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"EMAIterHook\"\n[[custom_hooks]]\ntype = \"Forgetful\"\nname = \"counts\"\n",
    );
    let found = bench.run(["verify-resume", "config.toml", "--at", "2", "--steps", "2"]);
    found.expect(5).says(&[
        "the resumed run differs in ",
        "the first is hook EMAIterHook average.layers.0.bias",
        "; plugin hooks that save no state: counts",
    ]);
}

#[test]
fn an_export_that_fails_leaves_nothing_behind() {
    let bench = Bench::new("");
    bench.trained("run", &[]);
    for file in ["out/model.pt", "out/model.safetensors"] {
        fs::create_dir_all(bench.path(file)).unwrap();
        let ran = bench.run(["export", "run", "--to", file]);
        ran.expect(6).says(&[&format!("error: could not rename to {file}: ")]);
    }
    fs::create_dir_all(bench.path("out/eval.json")).unwrap();
    let eval = ["eval", "config.toml", "--checkpoint", "run", "--out", "out/eval.json"];
    bench.run(eval).expect(6).says(&["out/eval.json"]);
    let names = fs::read_dir(bench.path("out")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["eval.json", "model.pt", "model.safetensors"]);
    bench.run(["export", "run", "--to", "no/model.pt"]).expect(6).says(&["no/model.pt: No such"]);
}

#[test]
fn an_interrupted_proof_ends_its_run_and_removes_its_folder() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let bench = Bench::new("");
        fs::create_dir(bench.path("tmp")).unwrap();
        let long = ["train.max_epochs=100000000", "default_hooks.logger=false"];
        let args = ["verify-resume", "config.toml", "--at", "1", "--steps", "100000000"];
        let mut proof = bench.command(args.into_iter().chain(long));
        proof.env("TMPDIR", bench.path("tmp")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut proof = proof.spawn().unwrap();
        let record = bench.path(&format!("tmp/hookrack-verify-{}/whole/run.json", proof.id()));
        until("the first run has begun", || record.exists());
        let record: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
        let child = format!("/proc/{}", record["pid"]);
        assert!(Path::new(&child).exists());
        signal(&proof, name);
        assert_eq!(wait(&mut proof).code(), Some(code), "{name}");
        assert!(!Path::new(&child).exists(), "{name}: its run continues");
        assert_eq!(fs::read_dir(bench.path("tmp")).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn a_hook_that_does_not_take_its_state_back_is_found_although_it_ends_as_it_should() {
    let bench = Bench::new(&hook("Relearner", "name = 'late'"));
    // In the middle of an epoch, and on into the next.
    let found = bench.run(["verify-resume", "config.toml", "--at", "1", "--steps", "2"]);
    found.expect(5).says(&["the first is hook late seen, right after the resume"]);
    // Where an epoch is done there is nothing to take back wrongly: it counts from 0 again.
    let args = ["verify-resume", "config.toml", "--at", "1", "--steps", "3"];
    bench.run(args).expect(5).says(&["differs in 1 of ", "hook late seen, right after the resume"]);
}

#[test]
fn an_export_of_one_of_several_averages_names_it() {
    let average = |name: &str, momentum: &str| {
        format!(
            "[[custom_hooks]]\ntype = \"EMAIterHook\"\nname = \"{name}\"\nevaluate = false\nmomentum = {momentum}\n"
        )
    };
    let bench = Bench::new(&format!("{}{}", average("z", "0.5"), average("a", "0.9")));
    let run = bench.trained("run", &[]);
    let export =
        |more: &[&str]| bench.run(["export", "run", "--to", "it.safetensors"].iter().chain(more));
    let several = "several hooks have averaged weights: choose one of a, z with --hook NAME";
    export(&["--what", "ema"]).expect(2).says(&[several]);
    export(&["--what", "ema", "--hook", "b"]).expect(2).says(&["no averaged weights of `b`"]);
    export(&["--hook", "z"]).expect(2).says(&["add --what ema"]);
    for name in ["a", "z"] {
        export(&["--what", "ema", "--hook", name])
            .expect(0)
            .prints(&[&format!("averaged by {name}, written to it.safetensors")]);
        let found = tensors(&bench.path("it.safetensors"));
        assert_eq!(found, tensors(&run.path.join(format!("{name}.safetensors"))), "{name}");
    }
}

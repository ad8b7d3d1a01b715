//! A run that ended early resumes bit for bit as if it had not been interrupted.

use crate::event_files;
use crate::workbench::{Bench, RunFolder, faulty, hook};
use std::fs;

/// Randomness in the model, averaged weights, a schedule, metrics of training and validation, checkpoints in the
/// middle of epochs. No clock: how long an iteration took is never the same.
const RICH: &str = r#"
[lr_scheduler]
type = "CosineAnnealingLR"
[default_hooks]
timer = false
logger = { interval = 3 }
checkpoint = { iter_period = 4 }
[[metrics]]
type = "Accuracy"
name = "TrainAccuracy"
phase = "train"
[[custom_hooks]]
type = "EMAIterHook"
momentum = 0.5
[[custom_hooks]]
type = "Faulty"
name = "bad"
file = "own"
at = "nowhere"
how = "stop"
"#;

/// Ten iterations an epoch, three epochs.
const SETTINGS: [&str; 4] =
    ["model.dropout=0.3", "data.train.samples=40", "train.max_epochs=3", "optimizer.type=AdamW"];

fn bench() -> Bench {
    Bench::new(RICH)
}

fn train(bench: &Bench, name: &str, more: &[&str]) -> (crate::workbench::Ran, RunFolder) {
    let all: Vec<_> = SETTINGS.iter().chain(more).copied().collect();
    bench.train(name, &all)
}

/// Asserts that two runs have the same results.
#[track_caller]
pub(crate) fn assert_same(one: &RunFolder, two: &RunFolder, what: &str) {
    let last = one.checkpoints().pop().unwrap();
    assert_eq!(two.checkpoints().pop().unwrap(), last, "{what}");
    for kind in ["model", "optimizer", "hooks", "run"] {
        // Several ranks may have written a file each.
        let [left, right] = [one, two].map(|run| {
            let files = crate::sharding::files(&run.path.join("checkpoints").join(&last), kind);
            files.iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>()
        });
        assert!(!left.is_empty() && left == right, "{what}: {kind} differs");
    }
    let state = |run: &RunFolder| {
        let mut state = run.json(&format!("checkpoints/{last}/state.json"));
        state["provenance"].take();
        // Its files are named by time and process; their contents are compared below.
        if let Some(writers) = state["writers"].as_object_mut() {
            writers.remove("tensorboard");
        }
        state
    };
    assert_eq!(state(one), state(two), "{what}");
    assert_eq!(one.text("metrics.json"), two.text("metrics.json"), "{what}");
    if one.path.join("tb").exists() {
        let shown = |run: &RunFolder| event_files::shown(&run.path.join("tb"));
        let (one, two) = (shown(one), shown(two));
        assert!(!one.is_empty(), "{what}");
        for (name, row) in &one {
            assert!(two.get(name) == Some(row), "{what}: TensorBoard's {name} differs");
        }
        assert!(two.keys().eq(one.keys()), "{what}: TensorBoard shows more");
    }
}

#[test]
fn a_run_resumes_bit_for_bit_wherever_it_was_interrupted() {
    let bench = bench();
    let (ran, whole) = train(&bench, "whole", &[]);
    ran.expect(0);
    let cuts = [
        ("before_train_iter", "sigkill", 9, "with a checkpoint in the middle of an epoch"),
        ("after_train_iter", "sigterm", 7, "in the middle of an epoch"),
        ("after_train_iter", "sigint", 10, "in the last iteration of an epoch"),
        ("after_val_iter", "sigterm", 20, "in a validation"),
        ("after_cycle", "sigterm", 20, "between two epochs"),
        ("after_train_iter", "stop", 13, "by a hook"),
        ("before_save_checkpoint", "sigkill", 24, "on the way to a checkpoint"),
        ("before_train_iter", "sigkill", 2, "before the first checkpoint"),
    ];
    for (number, (at, how, iter, what)) in cuts.into_iter().enumerate() {
        let name = format!("cut{number}");
        let bad = |key: &str, value: &str| format!("custom_hooks.bad.{key}={value}");
        let (at, how, iter) = (bad("at", at), bad("how", how), bad("iter", &iter.to_string()));
        let (ran, _) = train(&bench, &name, &["--resume", &at, &how, &iter]);
        assert!(ran.code != Some(0) || what == "by a hook", "{what}: it was not cut");
        let (ran, run) = train(&bench, &name, &["--resume"]);
        ran.expect(0);
        assert_same(&whole, &run, what);
        assert_eq!(run.record()["outcome"], "completed");
    }
}

#[test]
fn a_run_in_sixteen_bits_resumes_bit_for_bit_with_its_loss_scale() {
    let bench = bench();
    let scaler = "train.loss_scaler={init_scale=1e9, growth_interval=3}";
    for precision in ["fp16", "bf16"] {
        let chosen = format!("train.precision={precision}");
        let sixteen = |name: &str, more: &[&str]| {
            let more: Vec<_> = [&chosen, scaler].iter().chain(more).copied().collect();
            train(&bench, &format!("{precision}-{name}"), &more)
        };
        let (ran, whole) = sixteen("whole", &[]);
        ran.expect(0);
        // Steps were skipped, and the scale decreased and increased: there is state to lose.
        assert!(precision == "bf16" || whole.scalar("train/skipped_steps") >= 2.0);
        for (at, how, iter) in [
            ("before_train_iter", "sigkill", 6),
            ("after_train_iter", "sigterm", 13),
            ("after_val_iter", "sigint", 20),
        ] {
            let bad = |key: &str, value: &str| format!("custom_hooks.bad.{key}={value}");
            let name = format!("{how}-{iter}");
            let (at, how, iter) = (bad("at", at), bad("how", how), bad("iter", &iter.to_string()));
            let (ran, _) = sixteen(&name, &["--resume", &at, &how, &iter]);
            assert_ne!(ran.code, Some(0), "{name}: it was not cut");
            let (ran, run) = sixteen(&name, &["--resume"]);
            ran.expect(0);
            assert_same(&whole, &run, &format!("{precision}, {name}"));
        }
    }
}

#[test]
fn a_run_resumed_after_ten_million_samples_is_the_uninterrupted_one() {
    // How long an iteration took is never the same.
    let bench = Bench::new("[default_hooks]\ntimer = false\n");
    let many = ["data.train.samples=20000000", "train.batch_size=1000000"];
    let until = |name: &str, more: &[&str]| {
        let (ran, run) = bench.train(name, &[&many[..], more].concat());
        ran.expect(0);
        run
    };
    let whole = until("whole", &["--until", "11"]);
    until("cut", &["--until", "10"]);
    // That no sample is read on the way there is for the loader's own tests to count.
    let run = until("cut", &["--until", "11", "--resume"]);
    assert!(run.record()["resumed_from"].as_str().unwrap().ends_with("iter_0000010"));
    assert_same(&whole, &run, "after ten million samples");
    let state = run.json("checkpoints/iter_0000011/state.json");
    assert_eq!(state["position"]["samples"], 11_000_000);
}

#[test]
fn a_resumed_epoch_is_not_begun_again() {
    let bench = Bench::new(&hook("Recorder", "file = 'calls'"));
    let (at, how) = ("custom_hooks.bad.at=after_train_iter", "custom_hooks.bad.how=sigterm");
    bench.add(&faulty("bad", "nowhere", "how = 'stop'"));
    bench.train("run", &[at, how, "custom_hooks.bad.iter=3"]).0.expect(143);
    bench.take("calls");
    bench.train("run", &["--resume"]).0.expect(0);
    let points = bench.points("calls");
    let begun = |name: &str| points.iter().filter(|point| *point == name).count();
    assert_eq!((begun("before_train"), begun("after_load_checkpoint")), (1, 1));
    assert_eq!((begun("before_train_epoch"), begun("before_train_iter")), (0, 1));
    assert_eq!((begun("after_train_epoch"), begun("after_cycle")), (1, 1));
}

#[test]
fn a_damaged_newest_checkpoint_is_reported_and_the_previous_one_used() {
    let bench = bench();
    let (_, whole) = train(&bench, "whole", &[]);
    let (_, run) = train(&bench, "run", &[]);
    fs::write(run.path.join("checkpoints/iter_0000030/model.safetensors"), "nonsense").unwrap();
    let (ran, run) = train(&bench, "run", &["--resume"]);
    ran.expect(0)
        .says(&["iter_0000030/model.safetensors is damaged", "using the previous checkpoint"]);
    assert!(run.record()["resumed_from"].as_str().unwrap().ends_with("iter_0000028"));
    assert_same(&whole, &run, "after damage");
}

#[test]
fn what_differs_is_reported_and_what_cannot_work_is_refused_until_it_is_forced() {
    let bench = bench();
    train(&bench, "run", &["train.max_epochs=1"]).0.expect(0);
    let (ran, run) = train(&bench, "run", &["--resume", "custom_hooks.EMAIterHook.momentum=0.25"]);
    ran.expect(0).says(&["custom_hooks.EMAIterHook.momentum: 0.25 was 0.5"]);
    assert_eq!(run.record()["iter"], 30);

    let other = ["--resume", "train.seed=5", "train.max_epochs=4"];
    train(&bench, "run", &other).0.expect(2).says(&[
        "does not match this config",
        "train.seed: 5 was 1 (the order of the samples differs)",
        "--force",
    ]);
    let forced: Vec<_> = other.iter().copied().chain(["--force"]).collect();
    let (ran, run) = train(&bench, "run", &forced);
    ran.expect(0);
    assert_eq!(run.record()["iter"], 40);
}

#[test]
fn another_optimizer_starts_without_state_by_force() {
    let bench = bench();
    train(&bench, "run", &["train.max_epochs=1"]).0.expect(0);
    let other = ["--resume", "optimizer={_delete_=true, type='Adagrad'}"];
    let said = ["optimizer.type: \"Adagrad\" was", "--force"];
    train(&bench, "run", &other).0.expect(2).says(&said);
    let forced: Vec<_> = other.iter().copied().chain(["--force"]).collect();
    let (ran, run) = train(&bench, "run", &forced);
    ran.expect(0).says(&["the optimizer starts without state: the saved optimizer does not match"]);
    assert_eq!(run.record()["iter"], 30);
}

#[test]
fn a_checkpoint_may_be_named_and_later_ones_are_passed_over() {
    let bench = bench();
    let (_, whole) = train(&bench, "whole", &[]);
    let (_, run) = train(&bench, "run", &[]);
    let named = "run/checkpoints/iter_0000012";
    let config = SETTINGS.iter().copied();
    let args = ["train", "config.toml", "--resume", named].into_iter().chain(config.clone());
    bench.run(args).expect(0);
    assert_same(&whole, &run, "from an older one");
    // In a folder of its own it is another run, and the old one stays as it is.
    let args =
        ["train", "config.toml", "--resume", named, "--run-dir", "fork"].into_iter().chain(config);
    bench.run(args).expect(0);
    let fork = bench.folder("fork");
    assert_eq!(fork.scalars()[0]["iter"], 15, "the first interval of the logger after 12");
    assert_eq!(fork.checkpoints().last(), whole.checkpoints().last());
}

#[test]
fn two_processes_do_not_train_in_one_folder() {
    let bench = bench();
    let (_, run) = train(&bench, "run", &[]);
    let _lock = run.lock();
    train(&bench, "run", &["--resume"]).0.expect(6).says(&["is in use by another process"]);
}

/// Every file of a run with its bytes, without its log, which always grows.
fn files(folder: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut all = std::collections::BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if !path.ends_with("log.txt") {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

#[test]
fn a_completed_run_says_so_and_stays_as_it_is() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"TensorboardLoggerHook\"\n[[custom_hooks]]\ntype = \"Recorder\"\nfile = \"calls\"\n",
    );
    let off = ["default_hooks.checkpoint=false"];
    for (name, settings) in [("on", &[][..]), ("off", &off), ("gone", &[])] {
        let run = bench.trained(name, settings);
        if name == "gone" {
            fs::remove_dir_all(run.path.join("checkpoints")).unwrap();
        }
        let before = files(&run.path);
        assert!(before.keys().any(|path| path.to_str().unwrap().contains("tfevents")), "{name}");
        bench.take("calls");
        let (ran, _) = bench.train(name, &[&["--resume"][..], settings].concat());
        ran.expect(0).prints(&[
            &format!("{name} is complete after 2 epochs, 4 iterations: nothing to do"),
            "raise train.max_epochs or train.max_iters to train longer",
        ]);
        let args = ["train", "config.toml", "--json", "--resume", name];
        let ran = bench.run(args.iter().chain(settings));
        let said = ran.expect(0).json();
        assert_eq!((&said["outcome"], &said["iter"]), (&"completed".into(), &4.into()));
        assert_eq!(files(&run.path), before, "{name}");
        assert_eq!(bench.read("calls"), "", "no hook is called");
    }
    // Longer: from the last checkpoint on, and without one not at all.
    let longer = ["--resume", "train.max_epochs=3"];
    assert_eq!(bench.trained("on", &longer).record()["iter"], 6);
    let before = files(&bench.path("gone"));
    bench.train("gone", &longer).0.expect(2).says(&[
        "is complete after 4 iterations and has no checkpoint to continue from",
        "--run-dir or another run.name",
    ]);
    assert_eq!(files(&bench.path("gone")), before);
}

/// Each iteration is logged, in TensorBoard too.
const SHOWN: &str = "[default_hooks]\nlogger = { interval = 1 }\n\
                     [[custom_hooks]]\ntype = \"TensorboardLoggerHook\"\n";

#[test]
fn what_a_run_left_before_its_first_checkpoint_is_set_aside_and_not_cut() {
    let bad = faulty("bad", "before_train_iter", "how = 'sigkill'");
    let bench = Bench::new(&format!("{SHOWN}{bad}"));
    for (number, iter) in [("1", "2"), ("2", "2"), ("3", "9")] {
        let iter = format!("custom_hooks.bad.iter={iter}");
        let left = bench.read("run/metrics.json");
        let (ran, run) = bench.train("run", &["--resume", &iter]);
        assert_eq!(ran.code, if number == "3" { Some(0) } else { None }, "{}", ran.stderr);
        if number == "1" {
            continue;
        }
        let aside = format!("run/earlier/{}", number.parse::<u32>().unwrap() - 1);
        ran.says(&["has no checkpoint: the run starts over, its earlier files are in ", &aside]);
        assert_eq!(left.lines().count(), 1, "{left}");
        assert_eq!(bench.read(&format!("{aside}/metrics.json")), left);
        assert!(bench.path(&format!("{aside}/tb")).is_dir());
        assert_eq!(run.scalars()[0]["iter"], 1, "each line is there once");
    }
    let run = bench.folder("run");
    assert_eq!(run.record()["outcome"], "completed");
    assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"]);
}

#[test]
fn a_resume_that_fails_before_every_hook_has_started_leaves_everything_as_it_was() {
    let keeper = hook("Keeper", "name = 'keeper'\nwhat = 'number'\non_error = 'abort'");
    let bad = faulty("bad", "nowhere", "how = 'error'\non_error = 'abort'");
    let bench = Bench::new(&format!("{SHOWN}{keeper}{bad}"));
    let run = bench.trained("run", &[]);
    let before = files(&run.path);
    let refuses = ("custom_hooks.keeper.refuses=true", 6, "could not load its state");
    let fails = |at: &str| (format!("custom_hooks.bad.at={at}"), 4, format!("failed at {at}"));
    let mut cases = vec![(refuses.0.to_owned(), refuses.1, refuses.2.to_owned())];
    cases.extend(["on_attach", "before_run", "before_train"].map(fails));
    let named = ["train", "config.toml", "--resume", "run/checkpoints/iter_0000002"];
    let newest = ["train", "config.toml", "--resume", "run", "train.max_epochs=3"];
    for (set, code, words) in cases {
        for args in [&named[..], &newest] {
            let ran = bench.run(args.iter().copied().chain([set.as_str()]));
            ran.expect(code).says(&[&words, "the run was not resumed: its files are unchanged"]);
            let now = files(&run.path);
            assert!(now.keys().eq(before.keys()), "{set}: {:?}", now.keys());
            assert!(now == before, "{set} {args:?}: a file was changed");
        }
    }
    // A resume that starts continues from there: later lines are truncated, later checkpoints ignored.
    bench.run(named).expect(0);
    assert_eq!(
        run.text("metrics.json").lines().count(),
        bench.trained("whole", &[]).scalars().len()
    );
}

#[test]
fn a_run_is_locked_before_it_is_read() {
    let bench = Bench::new("");
    let run = bench.trained("run", &[]);
    // Damaged, so that a reader would report the damage instead of the lock.
    let manifest = run.path.join("checkpoints/iter_0000004/MANIFEST.json");
    fs::write(&manifest, "nonsense").unwrap();
    let _lock = run.lock();
    for path in ["run", "run/checkpoints", "run/checkpoints/iter_0000004"] {
        let ran = bench.run(["train", "config.toml", "--resume", path]);
        ran.expect(6).says(&["is in use by another process"]);
        assert!(!ran.stderr.contains("damaged"), "{path}: {}", ran.stderr);
    }
}

/// Rows of a table with two classes.
fn table(rows: u32) -> String {
    let row = |number: u32| format!("{number},{},{}\n", number % 7, number % 2);
    format!("a,b,y\n{}", (0..rows).map(row).collect::<String>())
}

#[test]
fn other_data_is_refused_and_by_force_every_epoch_is_trained_at_its_new_length() {
    let bench = Bench::bare();
    bench.write(
        "config.toml",
        "[plugins]\ndirs = [\"plugins\"]\n[model]\ntype = \"MLP\"\nhidden = [4]\n\
         [data.train]\ntype = \"Csv\"\npath = \"rows.csv\"\nlabel = \"y\"\n\
         [loss]\ntype = \"CrossEntropy\"\n[optimizer]\ntype = \"SGD\"\nlr = 0.1\n\
         [lr_scheduler]\ntype = \"CosineAnnealingLR\"\n\
         [train]\nmax_epochs = 3\nbatch_size = 7\nthreads = 1\n",
    );
    bench.write("rows.csv", &table(100));
    for name in ["shrunk", "larger"] {
        // 15 iterations an epoch: five of the second.
        bench.train(name, &["--until", "20"]).0.expect(0);
    }
    let reached = |run: &RunFolder| {
        [&run.record()["epoch"], &run.record()["iter"]].map(serde_json::Value::as_u64)
    };

    // Five iterations an epoch: the second has none left.
    let (ran, run) = bench.train("larger", &["--resume", "-s", "train.batch_size=20"]);
    ran.expect(2).says(&["train.batch_size: 20 was 7"]);
    let forced = ["--resume", "--force", "-s", "train.batch_size=20"];
    bench.train("larger", &forced).0.expect(0);
    assert_eq!(reached(&run), [Some(3), Some(25)]);

    // Eight: three more of the second, and a whole third.
    bench.write("rows.csv", &table(50));
    let (ran, run) = bench.train("shrunk", &["--resume"]);
    let told =
        "number of training samples: 50 was 100 (the position in the training data would be wrong)";
    ran.expect(2).says(&[told]);
    bench.train("shrunk", &["--resume", "--force"]).0.expect(0);
    assert_eq!(reached(&run), [Some(3), Some(31)]);
    // The schedule ends with the run: 0.1 (1 + cos(30 pi / 31)) / 2 in the last iteration.
    let last = run.scalar("train/lr");
    assert!((last - 2.565e-4).abs() < 1e-6, "{last}");
    // That checkpoint has the new number, and one more epoch is one more.
    bench.train("shrunk", &["--resume"]).0.expect(0).prints(&["complete"]);
    bench.train("shrunk", &["--resume", "-s", "train.max_epochs=4"]).0.expect(0);
    assert_eq!(reached(&run), [Some(4), Some(39)]);
}

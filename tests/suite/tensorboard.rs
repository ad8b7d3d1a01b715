//! TensorBoard's own reader finds every scalar, picture, histogram, text and setting of a run.

use crate::patience::output;
use crate::workbench::{Bench, RunFolder, SAVED};
use crate::workshop::repository;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The reader that these tests were written with.
const TENSORBOARD: &str = "tensorboard==2.21.0";

fn can_read(python: &Path) -> bool {
    let import = "import tensorboard.backend.event_processing.event_accumulator";
    output(Command::new(python).args(["-c", import])).is_ok_and(|ran| ran.status.success())
}

fn succeed(command: &mut Command) {
    let ran = output(command).unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{command:?} failed:\n{said}");
}

/// A Python that can import TensorBoard: the one at hand, or an environment of its own that the first test makes.
/// `None` where there is no Python at all.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let system = PathBuf::from("python3");
        if output(Command::new(&system).arg("--version")).is_err() {
            #[expect(clippy::print_stderr, reason = "who runs the tests should know")]
            {
                eprintln!("skipped: there is no python3 to read TensorBoard's files with");
            }
            return None;
        }
        if can_read(&system) {
            return Some(system);
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tensorboard");
        let own = folder.join("bin/python");
        if !can_read(&own) {
            succeed(Command::new(&system).args(["-m", "venv", "--clear"]).arg(&folder));
            succeed(Command::new(&own).args(["-m", "pip", "install", "--quiet", TENSORBOARD]));
        }
        Some(own)
    });
    found.as_deref()
}

/// What TensorBoard reads in a run's folder.
fn read(python: &Path, run: &RunFolder) -> Json {
    let script = repository().join("tests/fixtures/read_tensorboard.py");
    let ran = output(Command::new(python).arg(script).arg(run.path.join("tb"))).unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "the reader failed:\n{said}");
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// Steps and values of a scalar in `metrics.json`, where it was put in that iteration.
fn written(run: &RunFolder, name: &str) -> Vec<(u64, f64)> {
    let lines = run.scalars();
    let point = |line: &Json| Some((line["iter"].as_u64()?, line.get(name)?.as_f64()?));
    lines.iter().filter_map(point).collect()
}

const GALLERY: &str = "[[custom_hooks]]\ntype = \"Gallery\"\n[default_hooks]\nlogger = { interval = 1 }\n\
                       [[metrics]]\ntype = \"ConfusionMatrix\"\n";

#[test]
fn tensorboard_reads_every_scalar_picture_histogram_text_and_setting() {
    let Some(python) = python() else { return };
    let bench = Bench::new(GALLERY);
    let run = bench.trained("run", &[]);
    let found = read(python, &run);

    let scalars = found["scalars"].as_object().unwrap();
    let mut names: Vec<_> = run
        .scalars()
        .iter()
        .flat_map(|line| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>())
        .filter(|name| name.contains('/'))
        .collect();
    names.sort();
    names.dedup();
    assert!(names.len() >= 8, "{names:?}");
    assert_eq!(
        scalars.keys().cloned().collect::<std::collections::BTreeSet<_>>(),
        names.iter().cloned().collect()
    );
    for name in &names {
        let read = scalars[name].as_array().unwrap();
        let wanted = written(&run, name);
        assert_eq!(read.len(), wanted.len(), "{name}");
        for (read, (iter, value)) in read.iter().zip(wanted) {
            let (step, number) = (read[0].as_u64().unwrap(), read[1].as_f64().unwrap());
            assert_eq!(step, iter, "{name}");
            assert!(
                (number - value).abs() <= 1e-6 * value.abs().max(1.0),
                "{name} {number} {value}"
            );
        }
    }
    assert_eq!(scalars["train/outer/twice"], json!([[1, 2.0], [2, 4.0], [3, 6.0], [4, 8.0]]));
    let squares = &scalars["hook/Gallery/outer/inner/square"];
    assert_eq!(*squares, json!([[1, 1.0], [2, 4.0], [3, 9.0], [4, 16.0]]));

    let pictures: Vec<_> =
        (1..=4).map(|iter| json!([iter, 3, 2, [iter, 50, 100, 150, 200, 250]])).collect();
    assert_eq!(found["images"]["train/picture"], json!(pictures));
    assert_eq!(found["images"]["val/ConfusionMatrix"].as_array().unwrap().len(), 2);
    let histogram = |iter: u32| {
        let last = f64::from(iter) + 1.0;
        let [sum, squares] = [last + 2.0, last * last + 2.0];
        // In the first iteration 1 is the middle and belongs to the upper half.
        let counts = if iter > 1 { [3.0, 1.0] } else { [1.0, 3.0] };
        json!([iter, 0.0, last, 4.0, sum, squares, [last / 2.0, last], counts])
    };
    let histograms: Vec<_> = [1, 2, 3, 4].map(histogram).into();
    assert_eq!(found["histograms"]["hook/Gallery/numbers"], json!(histograms));
    assert_eq!(found["texts"]["train/note"][3], json!([4, "iteration *4*"]));
    assert!(found["texts"]["config"][0][1].as_str().unwrap().contains("type = \"Gallery\""));
    assert_eq!(found["settings"]["train.max_epochs"], 2.0);
    assert_eq!(found["settings"]["optimizer.type"], "AdamW");
}

#[test]
fn the_confusion_matrix_is_a_table_on_the_console_and_metrics_have_their_own_names() {
    let bench = Bench::new(
        "[[metrics]]\ntype = \"ConfusionMatrix\"\n[[metrics]]\ntype = \"F1\"\nname = \"f1_micro\"\naverage = \"micro\"\n\
         [[metrics]]\ntype = \"F1\"\nper_class = true\n[[metrics]]\ntype = \"AUROC\"\n",
    );
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0).prints(&["| true \\ pred |", "val/ConfusionMatrix"]);
    assert!((run.scalar("val/f1_micro") - run.scalar("val/Accuracy")).abs() < 1e-12);
    assert!((run.scalar("val/ConfusionMatrix") - run.scalar("val/Accuracy")).abs() < 1e-12);
    for name in ["val/F1", "val/F1.0", "val/F1.2", "val/AUROC"] {
        assert!((0.0..=1.0).contains(&run.scalar(name)), "{name}");
    }
}

#[test]
fn a_hook_cannot_have_an_unknown_writer_opened_or_lines_of_json_outside_the_run_directory() {
    let refused = |settings: &str, why: &str| {
        let bench = Bench::new(&format!("[[custom_hooks]]\ntype = \"Gallery\"\n{settings}\n"));
        let (ran, _) = bench.train("run", &[]);
        ran.expect(4).says(&["Gallery", why]);
    };
    refused(
        "writer = \"wandb\"",
        "unknown writer `wandb`; available: evaluations, json, tensorboard",
    );
    let outside = "writer = \"json\"\nfolder = \"../elsewhere\"";
    refused(outside, "use a path inside the run directory");
}

/// The hooks of a run that is looked at in TensorBoard.
const WATCHED: &str = "[[custom_hooks]]\ntype = \"TensorboardLoggerHook\"\n\
                       [[custom_hooks]]\ntype = \"WeightHistogramHook\"\nbins = 8\n\
                       [default_hooks]\nlogger = { interval = 1 }\n";

#[test]
fn histograms_of_weights_are_those_of_the_checkpoint() {
    let Some(python) = python() else { return };
    let bench = Bench::new(WATCHED);
    let run = bench.trained("run", &[]);
    let found = read(python, &run);
    for (epoch, iter) in [2, 4].into_iter().enumerate() {
        for (name, values) in run.model(iter) {
            let all = found["histograms"][format!("params/{name}")].as_array().unwrap();
            assert_eq!(all.len(), 2, "{name}");
            let shown: Vec<f64> = (1..6).map(|at| all[epoch][at].as_f64().unwrap()).collect();
            let values = values.iter().map(|value| f64::from(*value));
            let wanted = [
                values.clone().fold(f64::INFINITY, f64::min),
                values.clone().fold(f64::NEG_INFINITY, f64::max),
                values.clone().map(|_| 1.0).sum(),
                values.clone().sum(),
                values.map(|value| value * value).sum(),
            ];
            assert_eq!(all[epoch][0], iter, "{name}");
            for (shown, wanted) in shown.iter().zip(wanted) {
                assert!((shown - wanted).abs() < 1e-4, "{name}: {shown} {wanted}");
            }
            let counts: f64 =
                all[epoch][7].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).sum();
            assert!((counts - wanted[2]).abs() < 1e-9, "{name}");
            assert!(found["histograms"][format!("grads/{name}")].is_array(), "{name}");
        }
    }
}

#[test]
fn what_waits_for_a_writer_at_a_checkpoint_is_there_once_after_a_kill() {
    let Some(python) = python() else { return };
    // Pictures, histograms and texts of each iteration wait for the tenth; the checkpoint is that of the third.
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"Gallery\"\n\
         [[custom_hooks]]\ntype = \"Faulty\"\nname = \"killer\"\nlevel = 60\nhow = \"shell\"\niter = 5\n\
         at = \"nowhere\"\nfile = \"calls\"\ncommand = \"\"\n\
         [default_hooks]\ntimer = false\nlogger = { interval = 10 }\ncheckpoint = { iter_period = 3, epoch_period = 0 }\n",
    );
    let long = ["data.train.samples=48", "train.max_epochs=1", "--resume"];
    let whole = read(python, &bench.trained("whole", &long));
    let kill = format!("custom_hooks.killer.command={SAVED}; kill -KILL $PPID; sleep 9");
    let cut = [&long[..], &["custom_hooks.killer.at=before_train_iter", &kill]].concat();
    let (ran, run) = bench.train("run", &cut);
    assert_eq!((ran.code, run.checkpoints()), (None, vec!["iter_0000003".to_owned()]), "{ran:?}");
    bench.trained("run", &long);
    let resumed = read(python, &run);
    for kind in ["images", "histograms", "texts", "scalars"] {
        let shown = whole[kind].as_object().unwrap();
        assert!(!shown.is_empty(), "{kind}");
        for (name, all) in shown.iter().filter(|(name, _)| *name != "config") {
            assert_eq!(resumed[kind][name], *all, "{name}");
        }
    }
    let steps = |all: &Json| -> Vec<u64> {
        all.as_array().unwrap().iter().map(|one| one[0].as_u64().unwrap()).collect()
    };
    assert_eq!(steps(&resumed["images"]["train/picture"]), (1..=12).collect::<Vec<_>>());
    assert_eq!(steps(&resumed["texts"]["train/note"]), (1..=12).collect::<Vec<_>>());
}

#[test]
fn a_run_that_was_killed_and_resumed_has_each_step_once_in_tensorboard() {
    let Some(python) = python() else { return };
    // It runs after the writers of the iteration.
    let killer = "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"killer\"\nlevel = 60\n\
                  at = \"after_train_iter\"\nhow = \"sigkill\"\niter = 100\nfile = \"calls\"\n";
    let bench = Bench::new(&format!("{killer}{WATCHED}"));
    let epochs = ["train.max_epochs=3"];
    let whole = read(python, &bench.trained("whole", &epochs));
    // After the fifth step was written and before it was saved. The second checkpoint has waited for the first.
    let cut = [&epochs[..], &["custom_hooks.killer.iter=5"]].concat();
    let (ran, run) = bench.train("run", &cut);
    assert!(ran.code.is_none() && !run.checkpoints().is_empty(), "{ran:?}");
    assert_eq!(read(python, &run)["scalars"]["train/loss"].as_array().unwrap().len(), 5);
    bench.trained("run", &["--resume", "train.max_epochs=3"]);
    let resumed = read(python, &run);
    let steps = |found: &Json, name: &str| -> Vec<u64> {
        let all = found["scalars"][name].as_array().unwrap();
        all.iter().map(|one| one[0].as_u64().unwrap()).collect()
    };
    assert_eq!(steps(&resumed, "train/loss"), [1, 2, 3, 4, 5, 6]);
    assert_eq!(steps(&resumed, "val/loss"), [2, 4, 6]);
    for kind in ["scalars", "histograms"] {
        let (resumed, whole) =
            (resumed[kind].as_object().unwrap(), whole[kind].as_object().unwrap());
        let names =
            |all: &serde_json::Map<String, Json>| -> Vec<String> { all.keys().cloned().collect() };
        assert_eq!(names(resumed), names(whole));
        for (name, all) in whole.iter().filter(|(name, _)| !name.contains("time")) {
            assert_eq!(resumed[name], *all, "{name}");
        }
    }
}

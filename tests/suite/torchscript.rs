//! Models that Python wrote: the program trains them, and Python loads the trained weights.

use crate::keeping::python;
use crate::patience::output;
use crate::workbench::{Bench, hook, tensors};
use crate::workshop::repository;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

fn config(model: &Path) -> String {
    format!(
        "[plugins]\ndirs = [\"plugins\"]\n[model]\ntype = \"TorchScript\"\npath = \"{}\"\n\
         [data.train]\ntype = \"Digits\"\n\
         [data.val]\ntype = \"Digits\"\nsplit = \"val\"\n[data.pred]\ntype = \"Digits\"\nsplit = \"val\"\n\
         [loss]\ntype = \"CrossEntropy\"\n[optimizer]\ntype = \"AdamW\"\nlr = 0.01\n\
         [train]\nmax_epochs = 2\nbatch_size = 64\nthreads = 1\nseed = 1\n\
         [[metrics]]\ntype = \"Accuracy\"\n",
        model.display()
    )
}

fn scripted() -> std::path::PathBuf {
    repository().join("configs/models/digits_cnn.pt")
}

fn bench(model: &Path) -> Bench {
    Bench::of(&config(model))
}

#[test]
fn a_scripted_model_has_no_stages_of_a_pipeline() {
    let bench = bench(&scripted());
    let schedule = "schedule={type=\"OneFOneB\",stages=2,microbatches=2}";
    let args = ["launch", "-n", "2", "--", "train", "config.toml", "--run-dir", "run"];
    let ran = bench.run(args.iter().chain(&[schedule]));
    ran.expect(2)
        .says(&["`model`: this model cannot be split into stages: TorchScript", "[model]"]);
    assert!(!bench.path("run/checkpoints").exists());
}

#[test]
fn a_scripted_model_learns_with_its_buffers_in_checkpoint_and_average() {
    let bench = bench(&scripted());
    bench.add(&hook("EMAIterHook", "momentum = 0.5"));
    let run = bench.trained("run", &[]);
    let accuracy = run.scalar("val/Accuracy");
    assert!(accuracy > 0.85, "val accuracy {accuracy} after two epochs");
    let saved = run.checkpoints().pop().unwrap();
    let model = tensors(&run.path.join(format!("checkpoints/{saved}/model.safetensors")));
    for name in [
        "conv.weight",
        "conv.bias",
        "norm.weight",
        "norm.running_mean",
        "norm.running_var",
        "head.weight",
    ] {
        assert!(model.contains_key(name), "no {name} in {:?}", model.keys());
    }
    let (_, mean) = &model["norm.running_mean"];
    assert!(mean.iter().any(|value| value.abs() > 1e-3), "the running mean did not move: {mean:?}");
    assert_eq!(model["conv.weight"].0, [8, 1, 3, 3]);
}

#[test]
fn evaluation_repeats_itself_and_training_does_not() {
    let bench = bench(&scripted());
    bench.trained("run", &["train.max_epochs=1"]);
    for out in ["first.safetensors", "second.safetensors"] {
        bench.run(["predict", "config.toml", "--checkpoint", "run", "--out", out]).expect(0);
    }
    let read = |name: &str| fs::read(bench.path(name)).unwrap();
    assert_eq!(read("first.safetensors"), read("second.safetensors"), "dropout acts in evaluation");
}

/// Loads the trained tensors into Python's module, and compares the outputs of both for the same digits.
const COMPARE: &str = r#"
import sys, torch
from safetensors.torch import load_file
script, weights, predictions, digits = sys.argv[1:]
module = torch.jit.load(script)
module.load_state_dict(load_file(weights), strict=True)
module.eval()
records = torch.frombuffer(bytearray(open(digits, "rb").read()), dtype=torch.uint8).view(-1, 65)
seen, rows = [0] * 10, []
for row in range(len(records)):
    label = int(records[row, 64])
    seen[label] += 1
    if seen[label] % 5 == 0:
        rows.append(row)
images = records[rows, :64].float().view(-1, 1, 8, 8) / 16
with torch.no_grad():
    ours = module(images)
theirs = load_file(predictions)["output"]
assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
print("largest difference", float((ours - theirs).abs().max()))
# Sums of some hundred products in floats, in whatever order: 1e-5 of numbers of up to 10. Another weight is further off.
assert torch.allclose(ours, theirs, rtol=0, atol=1e-4)
"#;

#[test]
fn trained_weights_give_the_same_output_in_python() {
    let Some(python) = python() else {
        // Straight to standard error: what a test prints is not shown when it passes.
        let how = "set HOOKRACK_PYTHON to one to run this test";
        let _ = writeln!(std::io::stderr(), "skipped: no Python with torch and safetensors; {how}");
        return;
    };
    let bench = bench(&scripted());
    let run = bench.trained("run", &[]);
    bench
        .run(["predict", "config.toml", "--checkpoint", "run", "--out", "out.safetensors"])
        .expect(0);
    let saved = run.checkpoints().pop().unwrap();
    let weights = run.path.join(format!("checkpoints/{saved}/model.safetensors"));
    let digits = repository().join("host/engine/data/digits/digits.bin");
    let mut command = Command::new(python);
    command.args(["-c", COMPARE]).arg(scripted()).arg(weights);
    let compared = output(command.arg(bench.path("out.safetensors")).arg(digits)).unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(compared.status.success(), "{}{}", said(&compared.stdout), said(&compared.stderr));
}

#[test]
fn a_traced_file_trains_unless_it_has_dropout_or_batch_norm() {
    let fixtures = repository().join("tests/fixtures/torchscript");
    bench(&fixtures.join("traced_plain.pt")).trained("run", &["train.max_epochs=1"]);
    let (ran, _) = bench(&fixtures.join("traced.pt")).train("run", &[]);
    ran.expect(2).says(&[
        "was traced: its aten::batch_norm stays in the mode that it was traced in",
        "torch.jit.script instead of torch.jit.trace",
        "config.toml:3",
    ]);
}

#[test]
fn a_file_that_is_missing_cut_short_or_something_else_is_a_config_error() {
    let bench = Bench::bare();
    let bytes = fs::read(scripted()).unwrap();
    fs::write(bench.path("short.pt"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(bench.path("text.pt"), "no archive at all").unwrap();
    for (file, says) in [
        ("absent.pt", "there is no file at"),
        ("plugins", "there is a folder at"),
        ("short.pt", "short.pt is not a complete TorchScript file"),
        ("text.pt", "text.pt is not a complete TorchScript file"),
    ] {
        bench.write("config.toml", &config(Path::new(file)));
        let (ran, folder) = bench.train("run", &[]);
        ran.expect(2).says(&[says, "config.toml:3"]);
        assert!(!folder.path.exists(), "nothing is left behind");
    }
}

#[test]
fn data_that_do_not_fit_the_model_are_found_before_training() {
    let bench = Bench::bare();
    let synthetic = |shape: &str, classes: &str| {
        let other = format!("\"Synthetic\"\nsamples = 64\nshape = {shape}\nclasses = {classes}");
        let text = config(&scripted()).replace("split = \"val\"\n", "");
        bench.write("config.toml", &text.replace("\"Digits\"", &other));
        let (ran, _) = bench.train("run", &[]);
        ran
    };
    synthetic("[3, 8, 8]", "10").expect(2).says(&["does not accept a batch of shape [2, 3, 8, 8]"]);
    let ran = synthetic("[1, 8, 8]", "7");
    ran.expect(2).says(&["returns [2, 10] for a batch of 2, but the data needs [2, 7]"]);
}

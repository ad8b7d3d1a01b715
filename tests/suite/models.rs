//! Models from a config: each trains, its state is in the checkpoint, and what does not fit is shown at its line.

use crate::patience;
use crate::workbench::{Bench, program, tensors};
use crate::workshop::repository;
use std::fs::File;
use std::process::{Command, Stdio};

/// The digits and a model, for three iterations.
fn config(model: &str) -> String {
    format!(
        r#"{model}
[plugins]
dirs = ["plugins"]
[data.train]
type = "Digits"
split = "train"
[data.val]
type = "Digits"
split = "val"
[loss]
type = "CrossEntropy"
[optimizer]
type = "SGD"
lr = 0.05
[train]
max_iters = 3
batch_size = 32
threads = 1
[[metrics]]
type = "Accuracy"
"#
    )
}

const LENET: &str = r#"
[model]
type = "LeNet"
kernel = 3
padding = 1
init = { type = "kaiming_normal", fan = "out" }
"#;

const RESNET: &str = r#"
[model]
type = "ResNet"
stem = "cifar"
width = 4
zero_init_residual = true
"#;

const SEQUENTIAL: &str = r#"
[model]
type = "Sequential"
[[model.layers]]
type = "conv"
outputs = 8
padding = 1
[[model.layers]]
type = "residual"
projection = true
[[model.layers.layers]]
type = "conv"
outputs = 16
stride = 2
padding = 1
[[model.layers.layers]]
type = "norm"
[[model.layers]]
type = "activation"
kind = "gelu"
[[model.layers]]
type = "pool"
kind = "global"
[[model.layers]]
type = "linear"
"#;

#[test]
fn every_model_of_images_trains_and_its_tensors_are_in_the_checkpoint() {
    for (model, names) in [
        (LENET, ["conv1.weight", "fc3.bias"]),
        (RESNET, ["layer4.1.bn2.running_mean", "layer2.0.downsample.0.weight"]),
        (SEQUENTIAL, ["layers.1.layers.1.running_var", "layers.1.projection.weight"]),
    ] {
        let bench = Bench::of(&config(model));
        let run = bench.trained("run", &[]);
        assert!(run.scalar("train/loss").is_finite());
        let saved = tensors(&run.path.join("checkpoints/iter_0000003/model.safetensors"));
        for name in names {
            assert!(saved.contains_key(name), "{name} is not among {:?}", saved.keys());
        }
    }
}

#[test]
fn a_layer_that_does_not_fit_is_shown_at_its_line_before_any_training() {
    for (from, to, parts) in [
        (
            "type = \"linear\"",
            "type = \"linear\"\ninputs = 20",
            ["model.layers.4", "it expects shape [.., 20], found shape [16]"],
        ),
        (
            "stride = 2",
            "kernel = 11\nstride = 2",
            [
                "model.layers.1.layers.0",
                "a kernel of 11x11 with padding 1 does not fit into shape [8, 8, 8]",
            ],
        ),
        ("kind = \"global\"", "kind = \"globl\"", ["model.layers.3", "unknown variant `globl`"]),
        ("type = \"pool\"", "type = \"pol\"", ["model.layers.3", "did you mean `pool`?"]),
    ] {
        let bench = Bench::bare();
        let text = config(&SEQUENTIAL.replacen(from, to, 1));
        bench.write("config.toml", &text);
        let (ran, run) = bench.train("run", &[]);
        ran.expect(2).says(&parts).says(&["config.toml:", "^"]);
        // The key names the layer: the message does not name it again.
        let path = parts[0].trim_start_matches("model.");
        assert!(!ran.stderr.contains(&format!(": {path} (")), "{}", ran.stderr);
        assert!(!run.path.exists(), "a run directory was left behind");
    }
}

#[test]
fn gpt_bytes_trains_on_any_text_and_writes_on_from_a_prompt() {
    let bench = Bench::bare();
    bench.write("text.txt", &"the quick brown fox jumps over the lazy dog. ".repeat(40));
    let config = repository().join("configs/gpt_bytes.toml");
    let mut sets: Vec<String> = ["train", "val", "test"]
        .map(|split| format!("data.{split}.path={:?}", bench.path("text.txt")))
        .to_vec();
    for small in ["layers=1", "width=16"] {
        sets.push(format!("model.{small}"));
    }
    let splits = ["train", "val", "test"].map(|split| format!("data.{split}.context=16"));
    sets.extend(splits);
    sets.push(format!("plugins.dirs=[{:?}]", bench.path("plugins")));
    sets.extend(["train.max_iters=2", "train.batch_size=4", "train.threads=1"].map(String::from));
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let config = config.to_str().unwrap();
    bench.run(["train", config, "--run-dir", "run"].iter().chain(&sets)).expect(0);
    let write_on = |more: &[&str]| {
        let args =
            ["predict", config, "--checkpoint", "run", "--prompt", "the quick", "--tokens", "20"];
        bench.run(args.iter().chain(more).chain(&sets)).expect(0).stdout.clone()
    };
    let text = write_on(&[]);
    assert!(text.starts_with("the quick") && text.len() >= "the quick".len() + 20, "{text:?}");
    assert_eq!(text, write_on(&["--seed", "0"]));
    assert_ne!(text, write_on(&["--seed", "1"]));
    bench
        .run(["predict", config, "--checkpoint", "run", "--prompt", ""].iter().chain(&sets))
        .expect(2);
    bench.write("images.toml", &self::config(LENET));
    let images = ["predict", "images.toml", "--checkpoint", "run", "--prompt", "x"];
    bench.run(images).expect(2).says(&["--prompt needs a language model"]);
}

#[test]
fn a_prompt_is_continued_with_the_averaged_weights_if_there_are_any() {
    let bench = Bench::bare();
    bench.write("text.txt", &"abcdefgh".repeat(100));
    let ema = "[[custom_hooks]]\ntype = \"EMAIterHook\"\nmomentum = 1.0\nwarmup = false\n";
    let job = "plugins.dirs = [\"plugins\"]\n\n[train]\nmax_iters = 60\nbatch_size = 8\nthreads = 1\n\n\
               [model]\ntype = \"GPT\"\nlayers = 1\nwidth = 32\nheads = 2\n\n[loss]\ntype = \"CrossEntropy\"\n\n\
               [optimizer]\ntype = \"AdamW\"\nlr = 0.02\n\n[data.train]\ntype = \"Text\"\npath = \"text.txt\"\ncontext = 8\n\n";
    bench.write("averaged.toml", &format!("{job}{ema}"));
    bench.write("plain.toml", job);
    bench.run(["train", "averaged.toml", "--run-dir", "run"]).expect(0);
    let written = |config: &str| {
        let likeliest = ["--prompt", "abc", "--tokens", "5", "--temperature", "0"];
        let args = ["predict", config, "--checkpoint", "run"].into_iter().chain(likeliest);
        bench.run(args).expect(0).stdout.clone()
    };
    assert_eq!(written("plain.toml"), "abcdefgh\n");
    assert_ne!(written("averaged.toml"), "abcdefgh\n", "the average has never left the start");
}

#[test]
fn a_text_is_printed_as_it_is_generated_and_a_signal_ends_it() {
    let bench = Bench::bare();
    bench.write("text.txt", &"abcdefgh".repeat(100));
    bench.write(
        "config.toml",
        "[model]\ntype = \"GPT\"\nlayers = 1\nwidth = 8\nheads = 1\n[loss]\ntype = \"CrossEntropy\"\n\
         [optimizer]\ntype = \"AdamW\"\n[train]\nmax_iters = 1\nbatch_size = 2\nthreads = 1\n\
         [data.train]\ntype = \"Text\"\npath = \"text.txt\"\ncontext = 8\n",
    );
    bench.run(["train", "config.toml", "--run-dir", "run"]).expect(0);
    let mut command = Command::new(program());
    command.args(["predict", "config.toml", "--checkpoint", "run", "--prompt", "abc"]);
    command.args(["--tokens", "1000000000"]).current_dir(bench.path(""));
    command.env_remove("LD_LIBRARY_PATH").stdout(File::create(bench.path("said")).unwrap());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let said = || std::fs::read(bench.path("said")).unwrap();
    patience::until("a few tokens are printed", || said().len() > 20);
    patience::signal(&child, "INT");
    assert_eq!(patience::wait(&mut child).code(), Some(130));
    let said = said();
    assert!(said.starts_with(b"abc") && said.ends_with(b"\n"), "{said:?}");
}

/// A file as `numpy.save` writes it.
fn npy(ids: &[u16]) -> Vec<u8> {
    let header = format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({},), }}", ids.len());
    let header = format!("{header:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.bytes());
    file.extend(ids.iter().flat_map(|id| id.to_le_bytes()));
    file
}

#[test]
fn gpt_trains_on_token_ids_and_continues_a_prompt_of_ids() {
    let bench = Bench::bare();
    // Eight ids that do not fit into a byte, repeated.
    let ids: Vec<u16> = (0..800).map(|place| 300 + place % 8).collect();
    std::fs::write(bench.path("ids.npy"), npy(&ids)).unwrap();
    let data = |split: &str| {
        format!(
            "[data.{split}]\ntype = \"Tokens\"\npath = \"ids.npy\"\ncontext = 8\nvocab = 400\nsplit = \"{split}\"\n"
        )
    };
    let job = format!(
        "[plugins]\ndirs = [\"plugins\"]\n[train]\nmax_iters = 60\nbatch_size = 8\nthreads = 1\n\
         [model]\ntype = \"GPT\"\nlayers = 1\nwidth = 32\nheads = 2\n[loss]\ntype = \"CrossEntropy\"\n\
         [optimizer]\ntype = \"AdamW\"\nlr = 0.02\n{}{}",
        data("train"),
        data("val")
    );
    bench.write("config.toml", &job);
    let run = bench.trained("run", &[]);
    assert!(run.scalar("val/loss") < 1.0, "of ln 400, about 6, at the start");
    let predict = |prompt: &str| {
        let likeliest = ["--prompt", prompt, "--tokens", "5", "--temperature", "0"];
        bench.run(["predict", "config.toml", "--checkpoint", "run"].into_iter().chain(likeliest))
    };
    assert_eq!(predict("300 301 302").expect(0).stdout, "300 301 302 303 304 305 306 307\n");
    predict("the quick").expect(2).says(&["\"the\" is not a token id", "config.toml:", "^"]);
    predict("300 400").expect(2).says(&["400 is not one of the model's 400 tokens"]);
    let warm =
        ["predict", "config.toml", "--checkpoint", "run", "--prompt", "300", "--temperature"];
    for temperature in ["nan", "inf", "warm", "-1"] {
        let args = warm.into_iter().chain([temperature]);
        bench.run(args).expect(2).says(&["--temperature", "must be a number of at least 0"]);
    }
    // In an archive, as texts of their own.
    let texts = repository().join("host/engine/src/data/golden/tokens.npz");
    let archive = [
        format!(
            "data.train={{type=\"Tokens\",path={texts:?},array=\"texts\",context=5,split=\"all\",vocab=400}}"
        ),
        format!(
            "data.val={{type=\"Tokens\",path={texts:?},array=\"texts\",context=5,split=\"all\",vocab=400}}"
        ),
    ];
    let more = [&archive[0], &archive[1], "train.max_iters=2"];
    bench.trained("texts", &[&more[..], &["train.batch_size=2"]].concat());
}

#[test]
fn a_number_that_an_init_does_not_have_is_refused() {
    let bench = Bench::of(&config(&LENET.replace("fan = \"out\"", "std = 0.1")));
    let (ran, _) = bench.train("run", &[]);
    ran.expect(2).says(&["init.std does not apply to an init of this type"]);
}

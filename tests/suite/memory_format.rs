//! `train.memory_format`: how images are laid out while a model computes, chosen once for a run.

use crate::workbench::Bench;
use serde_json::json;

const RESNET: &str = "[plugins]\ndirs = [\"plugins\"]\n[model]\ntype = \"ResNet\"\nstem = \"cifar\"\nwidth = 4\n\
                      [data.train]\ntype = \"Digits\"\n[data.val]\ntype = \"Digits\"\nsplit = \"val\"\n\
                      [loss]\ntype = \"CrossEntropy\"\n[optimizer]\ntype = \"SGD\"\nlr = 0.01\n\
                      [train]\nmax_iters = 4\nbatch_size = 100\nthreads = 1\nseed = 3\n\
                      [[custom_hooks]]\ntype = \"EMAIterHook\"\n";

#[test]
fn files_have_the_same_tensors_in_either_format() {
    let bench = Bench::of(RESNET);
    let shapes = |format: &str| {
        let run = bench.trained(format, &[&format!("train.memory_format={format}")]);
        assert_eq!(run.record()["memory_format"], format);
        let folder = run.path.join("checkpoints/iter_0000004");
        let files = ["model.safetensors", "optimizer.safetensors", "hooks.safetensors"];
        files.map(|file| {
            let path = folder.join(file);
            let found = path.exists().then(|| crate::workbench::tensors(&path));
            let mut shapes: Vec<_> =
                found.into_iter().flatten().map(|(name, (shape, _))| (name, shape)).collect();
            shapes.sort();
            shapes
        })
    };
    let contiguous = shapes("contiguous");
    assert!(contiguous[0].len() > 20, "{contiguous:?}");
    assert_eq!(shapes("channels_last"), contiguous);
}

#[test]
fn auto_says_what_it_chose_and_a_resume_does_not_choose_again() {
    let bench = Bench::of(RESNET);
    let auto = ["train.memory_format=auto"];
    let (ran, run) = bench.train("run", &[&auto[..], &["--until", "2"]].concat());
    ran.expect(0).prints(&["memory_format: ", " ms contiguous, ", " ms channels_last"]);
    let chosen = run.record()["memory_format"].clone();
    let (ran, run) = bench.train("run", &[&auto[..], &["--resume"]].concat());
    ran.expect(0);
    assert!(!ran.stdout.contains("memory_format: "), "{}", ran.stdout);
    assert_eq!(run.record()["memory_format"], chosen);
}

#[test]
fn a_resumed_run_keeps_the_format_of_its_checkpoint_unless_the_config_names_one() {
    let bench = Bench::of(RESNET);
    let resumed = |from: &str, asked: &str| {
        let name = format!("{from}_{asked}");
        let from = format!("train.memory_format={from}");
        bench.trained(&name, &[&from, "--until", "2"]);
        let asked = format!("train.memory_format={asked}");
        let run = bench.trained(&name, &[&asked, "--resume", "--force"]);
        run.record()["memory_format"].clone()
    };
    assert_eq!(resumed("channels_last", "auto"), "channels_last");
    assert_eq!(resumed("contiguous", "auto"), "contiguous");
    assert_eq!(resumed("channels_last", "contiguous"), "contiguous");
}

#[test]
fn a_model_without_convolutions_has_nothing_to_choose() {
    let bench = Bench::new("");
    let (ran, run) = bench.train("run", &["train.memory_format=auto"]);
    ran.expect(0);
    assert!(!ran.stdout.contains("memory_format: "), "{}", ran.stdout);
    assert_eq!(run.record()["memory_format"], json!("contiguous"));
}

#[test]
fn ranks_train_in_the_format_that_rank_0_chose() {
    let bench = Bench::of(RESNET);
    let config = ["config.toml", "--run-dir", "run", "train.memory_format=auto"];
    let launched = bench.run([&["launch", "--ranks", "2", "--", "train"], &config[..]].concat());
    launched.expect(0).prints(&["memory_format: "]);
    let record = bench.json("run/run.json");
    assert_eq!(record["outcome"], "completed");
    assert_eq!(bench.read("run/ranks/rank_1.log").matches("memory_format").count(), 1);
}

#[test]
fn a_resume_is_verified_in_the_format_of_the_first_run() {
    let bench = Bench::of(RESNET);
    let verify = ["verify-resume", "config.toml", "--at", "2", "--steps", "2"];
    let ran = bench.run([&verify[..], &["train.memory_format=auto"]].concat());
    ran.expect(0).prints(&["identical: "]);
}

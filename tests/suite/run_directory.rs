//! What a run leaves behind: readable, verified, and the same for the same seed.

use crate::workbench::{Bench, RunFolder};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn sha256(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn a_run_leaves_config_record_log_scalars_and_checkpoints() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"EMAIterHook\"\nmomentum = 0.5\n[[metrics]]\ntype = \"TopK\"\nk = 2\n\
         [default_hooks]\nlogger = { interval = 1 }\n",
    );
    let run = bench.trained("run", &[]);
    assert!(run.text("config.toml").contains("momentum = 0.5"));
    assert!(run.text("log.txt").contains("the run ended"));

    let record = run.record();
    assert_eq!((&record["command"], &record["outcome"]), (&"train".into(), &"completed".into()));
    assert_eq!((&record["epoch"], &record["iter"]), (&2.into(), &4.into()));
    let plugins = record["plugins"].as_array().unwrap();
    let names: Vec<_> = plugins.iter().map(|plugin| plugin["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ema", "topk"], "those that are used, and no others of the folder");
    for plugin in plugins {
        let path = Path::new(plugin["path"].as_str().unwrap());
        assert_eq!(plugin["sha256"].as_str().unwrap(), sha256(path));
        assert_eq!(plugin["version"], "0.1.0");
    }
    let costs = record["hook_costs"].as_array().unwrap();
    let ema = costs.iter().find(|cost| cost["hook"] == "EMAIterHook").unwrap();
    assert_eq!(ema["points"]["after_train_iter"]["calls"], 4);
    assert!(ema["ms"].as_f64().unwrap() > 0.0);

    let iters: Vec<_> = run.scalars().iter().map(|line| line["iter"].as_u64().unwrap()).collect();
    assert!(iters.is_sorted() && iters.len() >= 4, "{iters:?}");
    let train: Vec<_> = run
        .scalars()
        .iter()
        .filter(|line| line["phase"] == "train")
        .map(|line| line["iter"].as_u64().unwrap())
        .collect();
    assert_eq!(train[..], [1, 2, 3, 4]);
    assert!(run.scalar("val/TopK") >= run.scalar("val/Accuracy"));
}

fn verify(checkpoint: &Path) {
    let manifest = fs::read_to_string(checkpoint.join("MANIFEST.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let files = manifest["files"].as_object().unwrap();
    assert_eq!(files.len() + 1, fs::read_dir(checkpoint).unwrap().count());
    for (name, entry) in files {
        assert_eq!(entry["sha256"].as_str().unwrap(), sha256(&checkpoint.join(name)), "{name}");
        assert_eq!(
            entry["bytes"].as_u64().unwrap(),
            fs::metadata(checkpoint.join(name)).unwrap().len()
        );
    }
}

#[test]
fn checkpoints_are_as_their_manifests_say_and_a_changed_one_is_refused() {
    let bench = Bench::new("");
    let run = bench.trained("run", &[]);
    assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"]);
    assert_eq!(run.text("checkpoints/latest").trim(), "iter_0000004");
    for name in run.checkpoints() {
        verify(&run.path.join("checkpoints").join(name));
    }
    bench.run(["eval", "config.toml", "--checkpoint", "run/checkpoints/iter_0000002"]).expect(0);
    let model = run.path.join("checkpoints/iter_0000004/model.safetensors");
    let mut bytes = fs::read(&model).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&model, bytes).unwrap();
    let ran = bench.run(["eval", "config.toml", "--checkpoint", "run"]);
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    ran.says(&["model.safetensors", "checksum"]);
}

#[test]
fn two_runs_with_one_seed_are_bit_identical_and_another_seed_differs() {
    let bench = Bench::new("");
    let [one, two, other] = [("one", "1"), ("two", "1"), ("other", "2")]
        .map(|(name, seed)| bench.trained(name, &[&format!("train.seed={seed}")]));
    for file in ["model.safetensors", "optimizer.safetensors"] {
        let bytes = |run: &RunFolder| {
            fs::read(run.path.join("checkpoints/iter_0000004").join(file)).unwrap()
        };
        assert_eq!(bytes(&one), bytes(&two), "{file}");
        assert_ne!(bytes(&one), bytes(&other), "{file}");
    }
    let values = |run: &RunFolder| {
        ["train/loss", "val/loss", "val/Accuracy"].map(|name| run.scalar(name).to_bits())
    };
    assert_eq!(values(&one), values(&two));
}

#[test]
fn the_norm_that_a_hook_in_c_reads_from_memory_is_the_hosts() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"GradNormC\"\nname = \"grads\"\nscalar = \"norm\"\n\
         [[custom_hooks]]\ntype = \"HostNorm\"\nname = \"host\"\n[default_hooks]\nlogger = { interval = 1 }\n",
    );
    for more in [&["train.clip_grad_norm=1e9"][..], &["train.accumulation=2"]] {
        let run = bench.trained(&format!("run{}", more[0].len()), more);
        let lines = run.scalars();
        let lines: Vec<_> =
            lines.iter().filter(|line| line.get("hook/grads/norm").is_some()).collect();
        assert_eq!(lines.len(), 4);
        for line in lines {
            let [c, host, own] = ["hook/grads/norm", "hook/host/norm", "hook/host/own_norm"]
                .map(|name| line[name].as_f64().unwrap());
            assert!(c > 1e-3 && (c - host).abs() < 1e-5 && (c - own).abs() < 1e-5, "{line}");
        }
    }
}

#[test]
fn clipping_bounds_the_gradients_and_the_norm_is_that_before_clipping() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"HostNorm\"\nname = \"host\"\n[default_hooks]\nlogger = { interval = 1 }\n",
    );
    let run = bench.trained("run", &["train.clip_grad_norm=0.01"]);
    let (before, after) = (run.scalar("hook/host/norm"), run.scalar("hook/host/own_norm"));
    assert!(before > 0.02 && (after - 0.01).abs() < 1e-4, "{before} {after}");
}

#[test]
fn a_folder_that_cannot_be_made_ends_with_code_6() {
    let bench = Bench::new("");
    bench.write("file", "in the way");
    bench.train("file/run", &[]).0.expect(6).says(&["file/run"]);
}

/// Everything below a folder: names, and what is in the files.
fn contents(folder: &Path) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        }
        all.push((path.clone(), fs::read(&path).ok()));
    }
    all.sort();
    all
}

#[test]
fn a_folder_that_holds_no_run_is_refused_and_stays_as_it_is() {
    let bench = Bench::new("");
    fs::create_dir_all(bench.path("project/checkpoints")).unwrap();
    fs::create_dir(bench.path("lone")).unwrap();
    fs::create_dir(bench.path("theirs")).unwrap();
    bench.write("project/notes.txt", "mine");
    bench.write("lone/config.toml", "mine");
    bench.write("theirs/run.json", "{\"run\": \"of another program\"}");
    bench.write("file", "mine");
    let before = contents(&bench.path(""));
    for (folder, why) in [
        (".", "it is not empty and has no run.json"),
        ("project", "it is not empty and has no run.json"),
        ("lone", "it is not empty and has no run.json"),
        ("theirs", "its run.json was not written by hookrack"),
        ("file", "it is a file"),
    ] {
        for more in [&[][..], &["--resume"]] {
            let (ran, _) = bench.train(folder, more);
            let message = format!("error: {folder} is not a run directory: {why}");
            ran.expect(2).says(&[&message, "--run-dir"]);
            assert!(contents(&bench.path("")) == before, "{folder} {more:?}: something changed");
        }
    }
    // The folder that `--resume` alone takes is the config's.
    let more = ["train", "config.toml", "--resume", "run.dir=.", "run.name=project"];
    bench.run(more).expect(2).says(&["project is not a run directory"]);
    assert!(contents(&bench.path("")) == before);

    fs::create_dir(bench.path("empty")).unwrap();
    bench.trained("empty", &[]);
    bench.train("empty", &[]).0.expect(2).says(&["empty already contains a run"]);
    bench.trained("empty", &["--resume"]);
}

#[test]
fn a_checkpoint_beside_other_things_begins_a_run_elsewhere() {
    let bench = Bench::new("");
    bench.trained("run", &[]);
    fs::create_dir_all(bench.path("project/checkpoints")).unwrap();
    bench.write("project/config.toml", "mine");
    let checkpoint = "project/checkpoints/iter_0000002";
    fs::rename(bench.path("run/checkpoints/iter_0000002"), bench.path(checkpoint)).unwrap();
    bench.run(["train", "config.toml", "--resume", checkpoint]).expect(0);
    assert_eq!(bench.read("project/config.toml"), "mine");
    let run = bench.folder("runs/run");
    assert_eq!((run.record()["iter"].as_u64(), run.checkpoints().len()), (Some(4), 1));
}

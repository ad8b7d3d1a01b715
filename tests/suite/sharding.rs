//! Sharded optimizers: ranks that keep a share of the state train what ranks with all of it train, and checkpoints move between them.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use crate::keeping::{python, run_python};
use crate::patience::{until, wait};
use crate::ranks::{launched, two_ranks};
use crate::workbench::Bench;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A model of whose tensors some are cut.
const WIDE: &[&str] = &["model.hidden=[64, 17]"];
const SHARD: &[&str] = &["optimizer.shard=true"];

/// Bit patterns of tensors by name, as doubles, from all files of a kind, with ranges put together.
pub(crate) type Bits = BTreeMap<String, Vec<u64>>;

pub(crate) fn bits(checkpoint: &Path, kind: &str) -> Bits {
    let mut pieces: BTreeMap<(String, u64), Vec<u64>> = BTreeMap::new();
    for path in files(checkpoint, kind) {
        let bytes = fs::read(&path).unwrap();
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        let ranges = header.metadata().clone().unwrap_or_default();
        for (name, (_, values)) in crate::workbench::wide_tensors(&path) {
            let start = ranges.get(&name).map_or(0, |text| {
                serde_json::from_str::<Json>(text).unwrap()["range"][0].as_u64().unwrap()
            });
            let values = values.iter().map(|value| value.to_bits()).collect();
            assert!(
                pieces.insert((name, start), values).is_none(),
                "twice in {}",
                checkpoint.display()
            );
        }
    }
    let mut joined = Bits::new();
    for ((name, start), values) in pieces {
        let whole: &mut Vec<u64> = joined.entry(name).or_default();
        assert_eq!(whole.len() as u64, start, "{}", checkpoint.display());
        whole.extend(values);
    }
    joined
}

pub(crate) fn files(checkpoint: &Path, kind: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(checkpoint).unwrap().map(|entry| entry.unwrap().path());
    let is_one = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(kind) && name.ends_with(".safetensors")
    };
    let mut files: Vec<_> = entries.filter(is_one).collect();
    files.sort();
    files
}

fn bytes(paths: &[std::path::PathBuf]) -> Vec<u64> {
    paths.iter().map(|path| fs::metadata(path).unwrap().len()).collect()
}

const LAST: &str = "checkpoints/iter_0000006";

#[test]
fn sharded_ranks_train_bit_for_bit_what_unsharded_ranks_train() {
    let ema = "[[custom_hooks]]\ntype = \"EMAIterHook\"\n";
    for (ranks, optimizer, more, hooks) in [
        (2, "{_delete_=true,type=\"AdamW\",lr=0.01}", "train.clip_grad_norm=0.5", ema),
        (2, "{_delete_=true,type=\"LAMB\",lr=0.01}", "train.precision=\"fp16\"", ""),
        (4, "{_delete_=true,type=\"SGD\",lr=0.1,momentum=0.9}", "distributed.bucket_mb=0.001", ""),
    ] {
        let bench = Bench::new(hooks);
        let optimizer = format!("optimizer={optimizer}");
        let plain = [WIDE, &[&optimizer, more]].concat();
        launched(&bench, ranks, "whole", &plain).expect(0);
        launched(&bench, ranks, "sharded", &[&plain, SHARD].concat()).expect(0);
        let [whole, sharded] = ["whole", "sharded"].map(|run| bench.path(run).join(LAST));
        for kind in ["model", "optimizer", "hooks"] {
            assert_eq!(bits(&whole, kind), bits(&sharded, kind), "{kind} with {optimizer}");
        }
        assert_eq!(files(&whole, "optimizer").len(), 1);
        assert_eq!(files(&sharded, "optimizer").len(), ranks);
        let losses = |run: &str| -> Vec<Json> {
            let run = bench.folder(run);
            run.scalars().iter().map(|line| line["train/loss"].clone()).collect()
        };
        assert_eq!(losses("whole"), losses("sharded"), "{optimizer}");
    }
}

#[test]
fn a_rank_keeps_its_share_of_the_optimizer_state_and_plan_says_so() {
    let bench = Bench::new("");
    let wide = ["model.hidden=[256]", "train.batch_size=8"];
    let plan = |more: &[&str]| -> Json {
        let args = [&["plan", "config.toml", "--ranks", "4", "--json"], &wide[..], more].concat();
        let ran = bench.run(args);
        serde_json::from_str(&ran.expect(0).stdout).unwrap()
    };
    let (whole, sharded) = (plan(&[]), plan(SHARD));
    let memory = |plan: &Json, what: &str| {
        plan["memory_bytes"][what].as_u64().unwrap_or_else(|| panic!("{plan}"))
    };
    // Each rank has a quarter of the numbers, up to a unit of 64 for each of two moments, and a counter per tensor.
    let (all, own) = (memory(&whole, "optimizer"), memory(&sharded, "optimizer"));
    assert!(own * 4 < all + 4 * (2 * 64 * 4 + 16), "{own} of {all}");
    assert_eq!(memory(&whole, "parameters"), memory(&sharded, "parameters"));
    let text = bench.run([&["plan", "config.toml", "--ranks", "4"], &wide[..], SHARD].concat());
    text.expect(0).prints(&["(sharded)", "all-gather of parameters"]);
    // What the ranks of a run really keep is what they write: their files, but for the headers.
    let run = [&wide[..], SHARD, &["optimizer.type=\"AdamW\"", "--until", "2"]].concat();
    launched(&bench, 4, "run", &run).expect(0);
    let written = bytes(&files(&bench.path("run/checkpoints/iter_0000002"), "optimizer"));
    assert_eq!(written.len(), 4);
    assert!(written.iter().all(|bytes| *bytes < all / 4 + 4096), "{written:?} of {all}");
}

#[test]
fn a_checkpoint_moves_between_any_numbers_of_ranks_sharded_or_not() {
    let bench = Bench::new("");
    let adam = "optimizer={_delete_=true,type=\"AdamW\",lr=0.01}";
    let common = [WIDE, &[adam, "train.precision=\"fp16\"", "--until", "3"]].concat();
    launched(&bench, 1, "start", &common).expect(0);
    let place = |run: &str| bench.path(run).join("checkpoints/iter_0000003");
    let wanted = [bits(&place("start"), "model"), bits(&place("start"), "optimizer")];
    let mut from = "start";
    for (run, ranks, shard) in
        [("a", 2, SHARD), ("b", 4, SHARD), ("c", 2, &[][..]), ("d", 1, SHARD)]
    {
        // Loaded, and saved again before the next iteration.
        let path = place(from).to_str().unwrap().to_owned();
        let moved = ["--resume", &path, "--save-at", "3"];
        launched(&bench, ranks, run, &[&common, shard, &moved].concat()).expect(0);
        let found = [bits(&place(run), "model"), bits(&place(run), "optimizer")];
        assert_eq!(found, wanted, "{from} to {run}");
        let count = if shard.is_empty() { 1 } else { ranks };
        assert_eq!(files(&place(run), "optimizer").len(), count, "{run}");
        from = run;
    }
    // One process writes the files that it always wrote.
    let names = |run: &str| files(&place(run), "");
    let short = |run: &str| -> Vec<_> {
        names(run).iter().map(|path| path.file_name().unwrap().to_owned()).collect()
    };
    assert_eq!(short("d"), short("start"));
    for kind in 0..4 {
        let [found, wanted] = ["d", "start"].map(|run| fs::read(&names(run)[kind]).unwrap());
        assert!(kind == 3 || found == wanted, "{:?}", names("d")[kind]);
    }
}

#[test]
fn a_rank_that_is_killed_while_the_parts_are_written_leaves_the_previous_checkpoint() {
    let bench = Bench::new("");
    let more = [
        "model.hidden=[256, 256]",
        "train.max_epochs=30",
        "optimizer={_delete_=true,type=\"AdamW\",lr=0.001}",
        "default_hooks.checkpoint.iter_period=1",
    ];
    let more = [&more[..], SHARD].concat();
    launched(&bench, 2, "whole", &more).expect(0);
    let [mut first, mut second] = two_ranks(&bench, "60", &more);
    let folder = bench.path("run/checkpoints");
    let in_the_making = || {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut drafts = entries.filter(|it| it.file_name().to_string_lossy().ends_with(".tmp"));
        drafts.any(|it| it.path().join("optimizer-00002-of-00002.safetensors").exists())
    };
    until("rank 1 writes its part", || folder.join("latest").exists() && in_the_making());
    second.kill().unwrap();
    wait(&mut second);
    assert_eq!(wait(&mut first).code(), Some(7), "{}", bench.read("said_0"));
    let checkpoints = bench.folder("run").checkpoints();
    assert!(!checkpoints.is_empty());
    for name in &checkpoints {
        let path = format!("run/checkpoints/{name}");
        bench.run(["export", &path, "--to", "model.safetensors"]).expect(0);
    }
    launched(&bench, 2, "run", &[&more[..], &["--resume"]].concat()).expect(0);
    let [whole, resumed] =
        ["whole", "run"].map(|run| bench.path(run).join("checkpoints/iter_0000060"));
    for kind in ["model", "optimizer"] {
        assert_eq!(bits(&whole, kind), bits(&resumed, kind), "{kind}");
    }
    let left = fs::read_dir(&folder).unwrap().flatten().map(|it| it.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().ends_with(".tmp")));
}

/// A run of two sharded ranks.
fn sharded(bench: &Bench) -> String {
    let adam = "optimizer={_delete_=true,type=\"AdamW\",lr=0.01}";
    let more = [WIDE, &[adam, "--until", "2"], SHARD].concat();
    launched(bench, 2, "run", &more).expect(0);
    "run/checkpoints/iter_0000002".to_owned()
}

#[test]
fn every_command_reads_a_sharded_checkpoint() {
    let bench = Bench::new("");
    let path = sharded(&bench);
    bench.run(["export", &path, "--to", "out.safetensors"]).expect(0);
    let exported = crate::workbench::tensors(&bench.path("out.safetensors"));
    let saved = crate::workbench::tensors(&bench.path(&path).join("model.safetensors"));
    assert_eq!(exported, saved);
    let eval = ["eval", "config.toml", "--checkpoint", &path, WIDE[0]];
    bench.run(eval).expect(0);
    let predict = ["predict", "config.toml", "--checkpoint", &path, "--out", "out.npy"];
    bench.run(predict.iter().chain(WIDE)).expect(0);
    bench.run(["inspect", &path]).expect(0).prints(&[
        "optimizer-00001-of-00002.safetensors",
        "optimizer-00002-of-00002.safetensors",
        "..",
        " of [17,64]",
    ]);
    let more = ["train.max_epochs=1", "data.train.samples=8"];
    let args = ["verify-resume", "config.toml", "--at", "1", "--steps", "1"];
    let all = [&args[..], WIDE, SHARD, &more].concat();
    bench.run(all).expect(0).prints(&["identical"]);
}

#[test]
fn a_missing_or_damaged_shard_is_named() {
    let bench = Bench::new("");
    let path = sharded(&bench);
    let file = bench.path(&path).join("optimizer-00002-of-00002.safetensors");
    let whole = fs::read(&file).unwrap();
    let eval = ["eval", "config.toml", "--checkpoint", &path, WIDE[0]];
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for (bytes, why) in [
        (changed, "its checksum does not match MANIFEST.json"),
        (whole[..whole.len() - 4].to_vec(), "MANIFEST.json says"),
    ] {
        fs::write(&file, bytes).unwrap();
        let named = ["optimizer-00002-of-00002.safetensors is damaged", why];
        bench.run(eval).expect(6).says(&named);
    }
    fs::remove_file(&file).unwrap();
    let named = ["could not read", "optimizer-00002-of-00002.safetensors"];
    bench.run(eval).expect(6).says(&named);
    let all = ["optimizer.shard=true", "--resume", &path];
    launched(&bench, 2, "other", &[WIDE, &all].concat()).says(&named);
}

#[test]
fn without_ranks_the_switch_changes_nothing_and_its_type_is_checked() {
    let bench = Bench::new("");
    let [plain, shard] = [("plain", &[][..]), ("shard", SHARD)].map(|(run, more)| {
        let run = bench.trained(run, &[&["--until", "2"], more].concat());
        run.path.join("checkpoints/iter_0000002")
    });
    for file in ["model.safetensors", "optimizer.safetensors"] {
        let same = fs::read(plain.join(file)).unwrap() == fs::read(shard.join(file)).unwrap();
        assert!(same, "{file}");
    }
    let (ran, _) = bench.train("wrong", &["optimizer.shard=2"]);
    ran.expect(2).says(&["optimizer.shard"]);
}

#[test]
fn python_reads_the_files_of_a_sharded_checkpoint() {
    let Some(python) = python() else {
        println!("skipped: there is no Python with torch and safetensors");
        return;
    };
    let bench = Bench::new("");
    let path = sharded(&bench);
    let script = format!(
        "import glob, json\nfrom safetensors import safe_open\nwhole = {{}}\n\
         for file in sorted(glob.glob('{path}/optimizer-*.safetensors')):\n  with safe_open(file, 'pt') as f:\n    \
         for name in f.keys():\n      at = json.loads((f.metadata() or {{}}).get(name, '{{}}')).get('range', [0])[0]\n      \
         whole.setdefault(name, []).append((at, f.get_tensor(name).numel()))\n\
         print(sum(n for at, n in whole['layers.1.weight.exp_avg']), len(whole['layers.1.weight.exp_avg']))"
    );
    assert_eq!(run_python(&bench, &python, &script), "1088 2");
    let loaded = format!(
        "from safetensors.torch import load_file\nprint(load_file('{path}/model.safetensors')['layers.0.weight'].shape)"
    );
    assert_eq!(run_python(&bench, &python, &loaded), "torch.Size([64, 4])");
}

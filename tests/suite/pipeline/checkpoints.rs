//! Checkpoints of stages: any layout, one process and Python read them.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use super::{alone, bench, cases, launched, saved, schedule};
use crate::keeping::{python, run_python};
use crate::sharding::bits;
use crate::workbench::tensors;
use crate::workshop::python_of;
use serde_json::Value as Json;
use std::fs;

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
    let none = || vec!["train.accumulation=4".to_owned()];
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
    assert_eq!(saved(&bench.folder("end")), saved(&stayed));
}

#[test]
fn averages_of_all_stages_are_exported_and_a_file_of_one_stage_is_reported() {
    let bench = bench(&cases()[3], "[[custom_hooks]]\ntype = \"EMAIterHook\"\nname = \"ema\"\n");
    let one = alone(&bench, "one", &[]);
    launched(&bench, 2, "two", &schedule("OneFOneB", 2, &[])).expect(0).says(&[
        "ema: ema.safetensors has only the parameters of stage 0 of 2; `hookrack export RUN` writes",
    ]);
    bench.run(["export", "two", "--what", "ema", "--to", "two.safetensors"]).expect(0);
    let two = tensors(&bench.path("two.safetensors"));
    assert_eq!(tensors(&one.path.join("ema.safetensors")), two);
}

#[test]
fn export_eval_and_predict_read_a_checkpoint_of_stages() {
    let digits = "type = \"Digits\"\nsplit = \"val\"\n";
    let bench =
        bench(&cases()[0], &format!("[data.test]\n{digits}[data.pred]\n{digits}first = 28\n"));
    alone(&bench, "one", &[]);
    launched(&bench, 2, "two", &schedule("OneFOneB", 2, &[])).expect(0);
    // The config of the run in stages: one process reads its checkpoint.
    let set = schedule("OneFOneB", 2, &[]);
    let same = |what: &str| {
        let [one, two] = ["one", "two"].map(|run| fs::read(bench.path(&format!("{run}.{what}"))));
        assert_eq!(one.unwrap(), two.unwrap(), "{what}");
    };
    for run in ["one", "two"] {
        let command = |name: &str, out: &str| {
            let mut args = vec![name, "config.toml", "--checkpoint", run, "--out", out];
            args.extend(set.iter().map(String::as_str).filter(|_| run == "two"));
            bench.run(args).expect(0);
        };
        bench.run(["export", run, "--to", &format!("{run}.safetensors")]).expect(0);
        command("eval", &format!("{run}.json"));
        command("predict", &format!("{run}.predicted.safetensors"));
    }
    same("safetensors");
    same("predicted.safetensors");
    let predicted = tensors(&bench.path("two.predicted.safetensors"));
    assert_eq!(predicted["output"].0, [28, 10]);
    let metrics = |run: &str| -> Json {
        let read = bench.json(&format!("{run}.json"));
        read["metrics"].clone()
    };
    assert_eq!(metrics("one"), metrics("two"));
}

#[test]
fn python_reads_a_checkpoint_of_stages_by_its_index() {
    let Some(python) = python() else {
        println!("skipped: there is no Python with torch and safetensors");
        return;
    };
    let bench = bench(&cases()[3], "");
    alone(&bench, "one", &[]);
    launched(&bench, 2, "two", &schedule("OneFOneB", 2, &[])).expect(0);
    bench.run(["export", "one", "--to", "one.safetensors"]).expect(0);
    let last = bench.folder("two").checkpoints().pop().unwrap();
    let script = format!(
        "CHECKPOINT = 'two/checkpoints/{last}'\n{}\n\
         import torch\nfrom safetensors.torch import load_file\n\
         whole = load_file('one.safetensors')\n\
         assert sorted(weights) == sorted(whole), (list(weights), list(whole))\n\
         assert all(torch.equal(weights[name], whole[name]) for name in whole)\n\
         print(len(set(index.values())))",
        python_of("docs/pipeline.md")
    );
    assert_eq!(run_python(&bench, &python, &script), "2", "each stage wrote a file");
}

//! Weights that a run starts from, parameters that it leaves alone, and groups that are stepped otherwise.

use crate::workbench::{Bench, RunFolder, hook};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use std::collections::HashMap;

/// No step moves anything: what training ends with is what it began with.
const STILL: [&str; 2] = ["optimizer.lr=0", "train.max_epochs=1"];

fn model(run: &RunFolder) -> HashMap<String, Vec<f32>> {
    let last = run.checkpoints().pop().unwrap();
    run.tensors(&format!("checkpoints/{last}/model.safetensors"))
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A file as another library would write it: other names, transposed matrices, an additional tensor.
fn foreign_file(bench: &Bench) {
    let numbers: Vec<f32> = (0_u8..32).map(f32::from).collect();
    let (kernel, bias, odd) = (bytes(&numbers), bytes(&[0.5; 8]), bytes(&[1.0; 5]));
    let view = |shape: &[usize], data| TensorView::new(Dtype::F32, shape.to_vec(), data).unwrap();
    let tensors = [
        ("bert.dense.0.kernel", view(&[4, 8], &kernel)),
        ("bert.dense.0.bias", view(&[8], &bias)),
        ("bert.dense.1.bias", view(&[5], &odd)),
        ("bert.position_ids", view(&[5], &odd)),
        ("cls", view(&[5], &odd)),
    ];
    let file = safetensors::serialize(tensors, None).unwrap();
    std::fs::write(bench.path("bert.safetensors"), file).unwrap();
}

const FOREIGN: &str = "\
[weights]
path = \"bert.safetensors\"
strict = false
ignore = [\"*.position_ids\"]
rename = [
  { from = \"bert.dense.*.kernel\", to = \"layers.*.weight\", transpose = true },
  { from = \"bert.dense.*\", to = \"layers.*\" },
]
";

#[test]
fn a_run_starts_from_the_weights_of_another_run() {
    let bench = Bench::new("");
    let first = bench.trained("first", &[]);
    bench.add("[weights]\npath = \"first\"\n");
    let (ran, second) = bench.train("second", &STILL);
    ran.expect(0).prints(&["first: 4 loaded\n"]);
    assert_eq!(model(&first), model(&second));
    let fresh = bench.trained("fresh", &["weights.strict=false", "train.seed=9"]);
    assert_ne!(model(&first), model(&fresh), "training starts from there");
}

#[test]
fn load_from_is_the_short_form_and_takes_a_run_a_checkpoint_or_a_file() {
    let bench = Bench::new("");
    let first = bench.trained("first", &[]);
    let [run, checkpoint, file] = ["first", "first/checkpoints/iter_0000004", "w.safetensors"];
    bench.run(["export", "first", "--to", file]).expect(0);
    for (number, from) in [run, checkpoint, file].into_iter().enumerate() {
        let load_from = format!("train.load_from=\"{from}\"");
        let more: Vec<_> = STILL.iter().copied().chain([load_from.as_str()]).collect();
        let name = format!("second{number}");
        let (ran, second) = bench.train(&name, &more);
        ran.expect(0).prints(&[&format!("{from}: 4 loaded\n")]);
        assert_eq!(model(&first), model(&second), "{from}");
        assert_eq!(second.record()["iter"], 2, "{from}: it begins at the first iteration");
    }
    // The first start of a command line that resumes is a fresh one: the weights are its.
    let more = ["--resume", "train.load_from=\"first\"", "optimizer.lr=0"];
    let (ran, third) = bench.train("third", &more);
    ran.expect(0).prints(&["first: 4 loaded\n"]);
    assert_eq!(model(&first), model(&third));
    // A restart uses its checkpoint, and the file need not exist.
    std::fs::remove_dir_all(&first.path).unwrap();
    bench.train("third", &[&more[..], &["train.max_epochs=3"]].concat()).0.expect(0);
}

#[test]
fn a_file_of_torch_save_is_refused_with_the_way_to_convert_it() {
    let bench = Bench::new("");
    bench.trained("run", &[]);
    bench.run(["export", "run", "--to", "model.pt"]).expect(0);
    let (ran, _) = bench.train("other", &["train.load_from=model.pt"]);
    ran.expect(2).says(&["model.pt", "this is a file of torch.save", "save_file(torch.load("]);
}

#[test]
fn foreign_names_are_put_into_ours_and_the_rest_is_reported() {
    let bench = Bench::new(FOREIGN);
    foreign_file(&bench);
    let (ran, run) = bench.train("run", &STILL);
    let report = "2 loaded, 1 missing (layers.1.weight), 1 unexpected (cls), \
                  1 of another shape (layers.1.bias: expects [3], found [5])";
    ran.expect(0).prints(&[report]);
    assert!(run.text("log.txt").contains(report), "{}", run.text("log.txt"));
    let model = model(&run);
    let turned: Vec<f32> = (0_u8..8)
        .flat_map(|column| (0_u8..4).map(move |row| f32::from(row * 8 + column)))
        .collect();
    assert_eq!(model["layers.0.weight"], turned);
    assert_eq!(model["layers.0.bias"], [0.5; 8]);
}

#[test]
fn strict_weights_that_do_not_fit_are_refused_with_every_name_before_anything_is_written() {
    let bench = Bench::new(FOREIGN);
    foreign_file(&bench);
    let (ran, run) = bench.train("run", &["weights.strict=true"]);
    ran.expect(2).says(&[
        "the weights do not match the model",
        "1 missing (layers.1.weight), 1 unexpected (cls), 1 of another shape (layers.1.bias: expects [3], found [5])",
        "set strict = false",
    ]);
    assert!(!run.path.exists());
}

#[test]
fn frozen_parameters_are_not_trained_and_have_no_state() {
    let bench = Bench::new("");
    let start = model(&bench.trained("start", &STILL));
    let run = bench.trained("run", &["train.freeze=[\"layers.0.*\"]"]);
    let end = model(&run);
    for (name, numbers) in &start {
        assert_eq!(numbers == &end[name], name.starts_with("layers.0."), "{name}");
    }
    let last = run.checkpoints().pop().unwrap();
    let state = run.tensors(&format!("checkpoints/{last}/optimizer.safetensors"));
    assert!(!state.is_empty() && state.keys().all(|name| name.starts_with("layers.1.")));
}

#[test]
fn groups_have_rates_of_their_own() {
    let group = "[[optimizer.groups]]\nmatch = \"*.bias\"\nlr_scale = 0.0\n[[optimizer.groups]]\nmatch = \"layers.0.*\"\nlr_scale = 0.5\nweight_decay = 0.0\n";
    let bench = Bench::new("");
    bench.replace("[train]", &format!("{group}[train]"));
    let start = model(&bench.trained("start", &STILL));
    let end = model(&bench.trained("run", &[]));
    for (name, numbers) in &start {
        assert_eq!(numbers == &end[name], name.contains("bias"), "{name}");
    }
}

#[test]
fn a_hook_unfreezes_freezes_and_changes_groups_during_a_run() {
    let bench = Bench::new(&hook("ParamChanger", "file = 'said.txt'"));
    let freeze = ["train.freeze=[\"layers.0.*\"]"];
    let run = bench.trained("run", &freeze);
    let said = bench.read("said.txt");
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(
        lines,
        [
            "group all of 1, layers.0.weight in 0, rate 0.001, momentum Some(0.9), decay 0.01",
            "trained: [false, false, true, true]",
            "thawed 2: [true, true, true, true]",
            "rate 0.002, momentum Some(0.5), decay 0.2",
            "no parameter matches `layer.0.*`: the nearest are `layers.0.bias`, `layers.0.weight`, `layers.1.bias`",
        ]
    );
    let last = run.checkpoints().pop().unwrap();
    let state = run.tensors(&format!("checkpoints/{last}/optimizer.safetensors"));
    assert!(state.contains_key("layers.0.weight.exp_avg"), "what was thawed has state");
}

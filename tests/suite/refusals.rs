//! What cannot work is refused before the work: files that could not be written, iterations that are never reached, hooks that a
//! pipeline cannot have.

use crate::workbench::Bench;
use std::fs;

const PREDICTIONS: &str = "[[custom_hooks]]\ntype = \"PredictionWriter\"\n";

#[test]
fn a_file_that_could_not_be_written_is_found_before_the_pass() {
    let recorder = "[[custom_hooks]]\ntype = \"Faulty\"\nfile = \"calls\"\nat = \"nowhere\"\nhow = \"error\"\n";
    let bench = Bench::new(recorder);
    bench.trained("run", &[]);
    bench.take("calls");
    bench.write("file", "");
    for (command, end) in [("predict", "npy"), ("eval", "json")] {
        let ran =
            |out: &str| bench.run([command, "config.toml", "--checkpoint", "run", "--out", out]);
        ran(&format!("none/x.{end}")).expect(6).says(&[
            &format!("could not write none/x.{end}: there is no folder none: "),
            "create it, or choose another file",
        ]);
        ran(&format!("file/x.{end}")).expect(6).says(&["file is not a folder"]);
        fs::create_dir(bench.path(&format!("folder.{end}"))).unwrap();
        ran(&format!("folder.{end}")).expect(6).says(&["it is a folder"]);
        assert_eq!(bench.read("calls"), "", "no hook was called");
        ran(&format!("x.{end}")).expect(0);
        assert_ne!(bench.take("calls"), "");
    }
}

#[test]
fn a_plot_is_an_svg_by_its_name() {
    let bench = Bench::new("");
    let plot = |file: &str| bench.run(["config", "config.toml", "--plot-lr", file]);
    plot("lr.png").expect(2).says(&["lr.png: the file name must end in .svg"]);
    assert!(!bench.path("lr.png").exists());
    plot("lr.svg").expect(0);
}

#[test]
fn iterations_that_a_run_does_not_have_are_refused() {
    let bench = Bench::new("");
    let refused = |more: &[&str], said: &str| {
        let (ran, run) = bench.train("run", more);
        ran.expect(2).says(&[said]);
        assert!(!run.path.exists(), "{more:?}");
    };
    refused(&["--until", "0"], "0 is not in 1..");
    refused(&["--save-at", "0"], "0 is not in 1..");
    refused(&["--save-at", "5"], "--save-at 5 is after the last iteration of the run, which is 4");
    refused(&["--save-at", "3", "--until", "2"], "which is 2: choose one up to 2");
    let run = bench.trained("run", &["--save-at", "3", "--until", "3"]);
    assert!(run.checkpoints().contains(&"iter_0000003".to_owned()), "{:?}", run.checkpoints());
}

#[test]
fn a_checkpoint_of_another_model_is_named_and_so_is_its_config() {
    let bench = Bench::new("");
    bench.trained("run", &[]);
    let other = ["-s", "model.hidden=[9]"];
    let commands: [&[&str]; 3] = [
        &["eval", "config.toml", "--checkpoint", "run"],
        &["predict", "config.toml", "--checkpoint", "run"],
        &["train", "config.toml", "-s", "train.max_epochs=3", "--resume", "run", "--force"],
    ];
    for command in commands {
        let ran = bench.run(command.iter().chain(&other));
        ran.expect(2).says(&[
            "iter_0000004 does not match this config: model: ",
            " expects [9, 4], found [8, 4]",
            "use the config that the run was trained with: ",
            "run/config.toml",
        ]);
        assert!(!ran.stderr.contains("epoch 0"), "{}", ran.stderr);
    }
}

#[test]
fn a_pipeline_refuses_a_hook_that_gathers_outputs_from_all_ranks() {
    let bench = Bench::new(PREDICTIONS);
    let check = |more: &[&str]| {
        let pipeline = "schedule={type=\"OneFOneB\",microbatches=2}";
        bench.run(["check", "config.toml", "-s", pipeline].iter().chain(more))
    };
    check(&[]).expect(2).says(&[
        "hook `PredictionWriter` cannot run in a pipeline: it needs the outputs on all ranks",
        "[schedule] type = \"NoPipeline\"",
        "[[custom_hooks]]",
    ]);
    check(&["-s", "custom_hooks.0.phase=[\"test\",\"pred\"]"]).expect(0);
    bench.run(["check", "config.toml"]).expect(0);
}

#[test]
fn data_of_one_class_is_warned_of() {
    let bench = Bench::new("");
    let one = ["train", "val", "test", "pred"].map(|split| format!("data.{split}.classes=1"));
    let sets = one.iter().flat_map(|set| ["-s", set.as_str()]);
    let warning = "data.train has one class: there is nothing to learn";
    bench.run(["check", "config.toml"].into_iter().chain(sets)).expect(0).says(&[warning]);
    let ran = bench.run(["check", "config.toml"]);
    assert!(!ran.expect(0).stderr.contains(warning), "{}", ran.stderr);
}

#[test]
fn a_class_that_is_listed_twice_is_refused() {
    let bench = Bench::new("");
    bench.write("pets.csv", "weight,pet\n4,cat\n9,dog\n");
    for data in [
        "type=\"Csv\",path=\"pets.csv\",label=\"pet\"",
        "type=\"ImageFolder\",dir=\".\",size=[2,2]",
    ] {
        let set = format!("data.train={{_delete_=true,{data},classes=[\"cat\",\"dog\",\"cat\"]}}");
        let ran = bench.run(["check", "config.toml", "-s", &set]);
        ran.expect(2).says(&["`cat` is listed twice, and each class needs a name of its own"]);
    }
}

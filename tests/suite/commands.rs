//! What each command prints.

use crate::workbench::{Bench, TINY, hook, tensors};
use crate::workshop::repository;
use hookrack_plugin_api::abi::{ABI_MAJOR, ABI_MINOR};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

#[test]
fn every_command_has_help_with_examples() {
    let bench = Bench::bare();
    bench.run(["--help"]).expect(0).prints(&[
        "Examples:\n",
        "Exit codes:\n  0    success",
        "\n  130  interrupted",
    ]);
    let ran = bench.run(["--help"]);
    let listed = ran.stdout.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<_> = names.map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(names.len() > 12, "{names:?}");
    for command in names.into_iter().filter(|name| *name != "help") {
        let ran = bench.run([command, "--help"]);
        let example = format!("\n  hookrack {command}");
        let wanted = ["Examples:\n", &example, "Usage: ", "Exit codes:\n"];
        ran.expect(0).prints(&wanted);
        let mut examples = ran.stdout.split_once("Examples:\n").unwrap().1.lines();
        let broken =
            examples.find(|line| !line.starts_with("  hookrack ")).filter(|line| !line.is_empty());
        assert_eq!(broken, None, "{command}: an example takes more than a line");
    }
    bench.run(["--version"]).expect(0).prints(&["hookrack 0."]);
    bench.run(["trian"]).expect(2).says(&["train"]);
}

/// The rows `| code | meaning |` of a page's section on exit codes, without markup.
fn exit_codes(page: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    let (_, section) = text.split_once("# Exit codes\n").unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.trim_matches(['|', ' ']).split_once(" | ").unwrap());
    cells.map(|(code, meaning)| (code.to_owned(), meaning.replace('`', ""))).collect()
}

#[test]
fn the_exit_codes_of_the_docs_are_those_of_the_help() {
    let help = Bench::bare().run(["--help"]).expect(0).stdout.clone();
    let listed = help.split_once("Exit codes:\n").unwrap().1.lines();
    let listed = listed.map(|line| line.trim().split_once(' ').unwrap());
    let listed: Vec<_> =
        listed.map(|(code, meaning)| (code.to_owned(), meaning.trim().to_owned())).collect();
    assert!(listed.len() > 8, "{listed:?}");
    assert_eq!(exit_codes("docs/commands.md"), listed);
    let codes = |rows: Vec<(String, String)>| rows.into_iter().map(|(code, _)| code);
    assert!(codes(exit_codes("docs/endings.md")).eq(codes(listed)), "docs/endings.md");
}

#[test]
fn check_reports_and_leaves_nothing_behind() {
    let bench = Bench::new("");
    let ran = bench.check(&[]);
    ran.expect(0).prints(&["config.toml is valid: MLP with 67 parameters, 8 hooks and metrics"]);
    assert!(!bench.path("runs").exists());
    bench.run(["check", "none.toml"]).expect(2).says(&["none.toml"]);
}

#[test]
fn one_bad_file_does_not_stop_the_other_plugins_and_is_listed_with_its_reason() {
    let bench = Bench::new("");
    bench.write("plugins/libbroken.so", "not a library");
    let ran = bench.run(["plugins"]);
    let ema = format!("libema.so  ema 0.1.0, ABI {ABI_MAJOR}.{ABI_MINOR}, sha256 ");
    ran.expect(0).prints(&[&ema, "  hook    EMAIterHook", "  metric  TopK"]);
    let line = ran.stdout.lines().find(|line| line.starts_with("libbroken.so")).unwrap();
    assert!(
        line.contains("failed to load: ") && line.contains("not an ELF shared library, but text"),
        "{line}"
    );
    bench.trained("run", &[]);
    bench.run(["plugins", "--dir", "nowhere"]).expect(2).says(&["nowhere"]);
}

#[test]
fn a_plugin_that_the_config_names_and_that_does_not_load_ends_with_code_3() {
    let bench = Bench::new(&hook("X", "library = 'libbroken.so'"));
    bench.write("plugins/libbroken.so", "not a library");
    for command in ["check", "plan", "train"] {
        bench
            .run([command, "config.toml"])
            .expect(3)
            .says(&["libbroken.so", "not an ELF shared library"]);
    }
    bench.run(["inspect", "plugins/libbroken.so"]).expect(3).says(&["not an ELF shared library"]);
}

#[test]
fn a_type_in_two_libraries_is_an_error_that_names_both_until_the_config_names_one() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    fs::copy(bench.path("plugins/libema.so"), bench.path("plugins/libtwin.so")).unwrap();
    bench.run(["plan", "config.toml"]).expect(2).says(&["EMAIterHook", "libema.so", "libtwin.so"]);
    bench
        .run(["plan", "config.toml", "custom_hooks.0.library=libtwin.so"])
        .expect(0)
        .prints(&["libtwin.so"]);
}

#[test]
fn inspect_prints_the_manifest() {
    let bench = Bench::bare();
    bench.run(["inspect", "plugins/libema.so"]).expect(0).prints(&[
        "ema 0.1.0\n",
        "sha256      ",
        "hook EMAIterHook\n",
        "level    30 NORMAL",
        "mutates  params",
        "state    saved in checkpoints",
        "momentum         float      default 0.999",
        "(0 to 1)",
    ]);
    bench
        .run(["inspect", "plugins/libtopk.so"])
        .expect(0)
        .prints(&["metric TopK\n", "better   higher"]);
    bench.run(["inspect", "plugins/libgrad_norm_c.so"]).expect(0).prints(&["hook GradNormC\n"]);
}

#[test]
fn train_says_where_the_run_is_what_was_reached_and_what_hooks_cost() {
    let bench = Bench::new("");
    bench.run(["train", "config.toml"]).expect(0).prints(&[
        "run directory: ",
        "epoch 2  val  Accuracy ",
        "completed after 2 epochs, 4 iterations",
        "val/Accuracy ",
        "time in hooks:\n",
        "MainHook ",
    ]);
    assert!(bench.path("runs/run/run.json").is_file());
    let quiet = bench.run(["train", "config.toml", "--quiet"]);
    assert_eq!(quiet.expect(0).stdout, "");
    assert!(bench.path("runs/run-2/run.json").is_file(), "another run's folder was taken");
}

#[test]
fn eval_and_predict_need_data_and_a_checkpoint() {
    let bench = Bench::new("");
    bench.run(["eval", "config.toml"]).expect(2).says(&["--checkpoint"]);
    let ran = bench.run(["eval", "config.toml", "--checkpoint", "nowhere"]);
    ran.expect(2).says(&["no checkpoint at nowhere"]);
    let (head, rest) = TINY.split_once("[data.test]").unwrap();
    bench.write("config.toml", &format!("{head}{}", &rest[rest.find("[loss]").unwrap()..]));
    bench.run(["eval", "config.toml", "--checkpoint", "run"]).expect(2).says(&["no test data"]);
    bench
        .run(["predict", "config.toml", "--checkpoint", "run"])
        .expect(2)
        .says(&["no data to predict"]);
}

#[test]
fn a_checkpoint_of_another_model_is_refused() {
    let bench = Bench::new("");
    bench.trained("run", &[]);
    let ran = bench.run(["eval", "config.toml", "--checkpoint", "run", "model.hidden=[9]"]);
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran.says(&["error: "]);
}

/// The labels of the digits' validation split: of each class every fifth sample, in the file's order.
fn labels() -> Vec<usize> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/engine/data/digits/digits.bin");
    let mut seen = [0; 10];
    let labels = fs::read(file)
        .unwrap()
        .chunks_exact(65)
        .map(|sample| usize::from(sample[64]))
        .collect::<Vec<_>>();
    let mut is_val = |label: &usize| {
        seen[*label] += 1;
        seen[*label] % 5 == 0
    };
    labels.into_iter().filter(|label| is_val(label)).collect()
}

#[test]
fn a_checkpoint_with_another_metrics_state_is_used_by_force() {
    let bench = Bench::new("");
    bench.trained("run", &[]);
    let other = "metrics=[{type=\"AUROC\", name=\"Accuracy\"}]";
    for command in ["eval", "predict"] {
        let args = [command, "config.toml", "--checkpoint", "run", other];
        bench.run(args).says(&["hook `Accuracy` could not load its state", "--force"]);
        bench.run(args.iter().chain(&["--force"])).expect(0);
    }
}

#[test]
fn eval_and_predict_do_not_depend_on_the_optimizer_of_the_config() {
    let bench = Bench::new("");
    bench.trained("run", &[]);
    for command in ["eval", "predict"] {
        let args = [command, "config.toml", "--checkpoint", "run"];
        let same = bench.run(args).expect(0).stdout.clone();
        let other = args.iter().copied().chain(["optimizer.type=SGD"]);
        assert_eq!(bench.run(other).expect(0).stdout, same);
    }
}

#[test]
fn predictions_are_the_outputs_that_eval_measures() {
    let bench = Bench::bare();
    let digits = "type = \"Digits\"\nsplit = \"val\"\n";
    let (head, rest) = TINY.split_once("[data.train]").unwrap();
    let tail = rest[rest.find("[loss]").unwrap()..].replace("batch_size = 4", "batch_size = 100");
    bench.write(
        "config.toml",
        &format!("{head}[data.train]\ntype = \"Digits\"\n[data.test]\n{digits}[data.pred]\n{digits}{tail}"),
    );
    bench.trained("run", &[]);
    bench
        .run(["predict", "config.toml", "--checkpoint", "run", "--out", "out.safetensors"])
        .expect(0)
        .prints(&["355 predictions in out.safetensors"]);
    let (shape, logits) = tensors(&bench.path("out.safetensors")).remove("output").unwrap();
    let labels = labels();
    assert_eq!(shape, [labels.len(), 10]);
    let argmax = |row: &[f32]| (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
    let right =
        logits.chunks_exact(10).zip(&labels).filter(|(row, label)| argmax(row) == **label).count();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred samples")]
    let accuracy = right as f64 / labels.len() as f64;
    assert!(accuracy > 0.2, "{accuracy}");
    let ran = bench.run(["eval", "config.toml", "--checkpoint", "run"]);
    ran.expect(0).prints(&[&format!("test  Accuracy {accuracy:.4}")]);
    same_predictions_in_other_formats(&bench, &logits);
}

fn same_predictions_in_other_formats(bench: &Bench, logits: &[f32]) {
    for file in ["out.npy", "out.jsonl"] {
        let args = ["predict", "config.toml", "--checkpoint", "run", "--out", file];
        bench.run(args).expect(0);
    }
    let npy = fs::read(bench.path("out.npy")).unwrap();
    let numbers: Vec<u8> = logits.iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(npy[npy.len() - numbers.len()..], numbers);
    let text = bench.read("out.jsonl");
    for (index, (line, row)) in text.lines().zip(logits.chunks_exact(10)).enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["index"], index);
        let class = usize::try_from(line["class"].as_u64().unwrap()).unwrap();
        assert!(row.iter().all(|score| *score <= row[class]), "{line}");
        assert_eq!(line["output"][3], f64::from(row[3]));
    }
    assert_eq!(text.lines().count(), logits.len() / 10);
    let args = ["predict", "config.toml", "--checkpoint", "run", "--out", "out.csv"];
    bench.run(args).expect(2).says(&["out.csv", ".safetensors, .npy or .jsonl"]);
}

#[test]
fn eval_measures_every_named_set_and_writes_the_values() {
    let bench = Bench::new(
        "[data.tests.other]\ntype = \"Synthetic\"\nsamples = 12\nshape = [4]\nclasses = 3\nseed = 8\n\
         [data.tests.train-set]\ntype = \"Synthetic\"\nsamples = 8\nshape = [4]\nclasses = 3\n",
    );
    bench.trained("run", &[]);
    let ran = bench.run(["eval", "config.toml", "--checkpoint", "run", "--out", "eval.json"]);
    ran.expect(0);
    let eval = bench.json("eval.json");
    for name in
        ["Accuracy", "other/Accuracy", "train-set/Accuracy", "loss", "other/loss", "train-set/loss"]
    {
        let name = &format!("test/{name}");
        let value = eval[name].as_f64().unwrap_or_else(|| panic!("no {name} in {eval}"));
        ran.prints(&[&format!("{name} {value:.4}")]);
    }
    ran.prints(&[
        "epoch 2  test  Accuracy ",
        "epoch 2  test other  Accuracy ",
        "epoch 2  test train-set  Accuracy ",
    ]);
    // Without the unnamed set, each set alone has the same result.
    let alone = Bench::new("");
    alone.trained("run", &[]);
    let set = ["data.test.samples=12", "data.test.seed=8"];
    let args = ["eval", "config.toml", "--checkpoint", "run", "--out", "eval.json"];
    alone.run(args.iter().chain(&set)).expect(0);
    let one = alone.json("eval.json");
    assert_eq!(one["test/Accuracy"], eval["test/other/Accuracy"]);
    assert_eq!(one["test/loss"], eval["test/other/loss"]);
    assert!(one["test/loss"].is_f64(), "{one}");
}

#[test]
fn paths_that_are_not_utf_8_are_shown_as_well_as_json_can() {
    let bench = Bench::new("");
    let name = OsStr::from_bytes(b"run\xff");
    let args = ["train", "config.toml", "--json", "--run-dir"].map(OsStr::new);
    bench.run(args.into_iter().chain([name])).expect(0).prints(&["run\u{fffd}"]);
    bench.run(args.into_iter().chain([name, OsStr::new("--resume")])).expect(0);
    bench.run(["runs", ".", "--json"]).expect(0).prints(&["run\u{fffd}"]);
    let name = OsStr::from_bytes(b"plugins\xff");
    fs::rename(bench.path("plugins"), bench.path("plugins").with_file_name(name)).unwrap();
    let args = ["plugins", "--json", "--dir"].map(OsStr::new);
    bench.run(args.into_iter().chain([name])).expect(0).prints(&["plugins\u{fffd}"]);
}

#[test]
fn a_config_after_resume_is_the_config() {
    let bench = Bench::new("");
    bench.run(["train", "config.toml", "--until", "2"]).expect(0);
    let ran = bench.run(["train", "--resume", "config.toml"]);
    ran.expect(0).prints(&["config.toml is the config; resuming from the newest checkpoint"]);
    let record = bench.json("runs/run/run.json");
    assert_eq!(record["iter"], 4);
    assert!(record["resumed_from"].as_str().unwrap().ends_with("iter_0000002"), "{record}");
    // A checkpoint is not one: the message says what to type.
    bench
        .run(["train", "--resume", "runs/run"])
        .expect(2)
        .says(&["error: no config: use `hookrack train runs/run/config.toml --resume runs/run`"]);
    bench.run(["train"]).expect(2).says(&["no config"]);
    bench.run(["train", "--resume", "none.toml"]).expect(2).says(&["none.toml"]);
}

#[test]
fn a_report_that_was_not_written_is_not_announced() {
    let bench = Bench::new("");
    let (ran, _) = bench.train("run", &["--until", "2"]);
    ran.expect(0).prints(&["report: ", "run/report.html\n"]);
    fs::remove_file(bench.path("run/report.html")).unwrap();
    fs::create_dir(bench.path("run/report.html")).unwrap();
    let (ran, _) = bench.train("run", &["--resume"]);
    ran.expect(0).says(&["could not write the report: ", "report.html"]);
    assert!(!ran.stdout.contains("report: "), "{}", ran.stdout);
}

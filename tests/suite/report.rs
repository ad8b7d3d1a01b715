//! What a run shows: lines for a person, lines for a program, and a page at the end.

use crate::workbench::{Bench, hook};
use serde_json::Value as Json;
use std::fs;

const MORE: &str =
    "[[custom_hooks]]\ntype = \"EMAIterHook\"\n[default_hooks]\nlogger = { interval = 1 }\n";

#[test]
fn a_run_ends_with_a_page_that_has_curves_metrics_times_config_and_environment() {
    let bench = Bench::new(MORE);
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0).prints(&["time: train ", ", val ", "time in hooks:", "report: "]);
    let phases = &run.record()["phases"];
    assert!(phases["train"].as_f64().unwrap() > 0.0 && phases["val"].as_f64().unwrap() > 0.0);
    assert!(phases["test"].is_null());

    let page = run.text("report.html");
    for part in [
        "completed",
        "2 epochs, 4 iterations",
        "<b>loss</b>",
        "<b>lr</b>",
        "<b>Accuracy</b>",
        "<polyline",
        "val/Accuracy",
        "Time by phase",
        "Time by hook",
        "EMAIterHook",
        "MainHook",
        "libtorch",
        "2.13.0",
        "ema 0.1.0",
        "Config, resolved",
        "type = &quot;Synthetic&quot;",
    ] {
        assert!(page.contains(part), "`{part}` is not in the page");
    }
    for part in ["http", "<script", "<link", "src="] {
        assert!(!page.contains(part), "`{part}` is in the page");
    }
}

#[test]
fn the_page_of_a_run_with_infinite_weights_says_so() {
    let bench = Bench::new(MORE);
    let (ran, run) = bench.train("run", &["optimizer.lr=1e30"]);
    ran.expect(0).prints(&["warning: the weights are NaN or infinite"]);
    assert!(run.text("report.html").contains("Warning: the weights are NaN or infinite"));
    assert!(!bench.trained("other", &[]).text("report.html").contains("Warning: "));
}

#[test]
fn the_page_of_a_run_can_be_made_again_and_elsewhere() {
    let bench = Bench::new(MORE);
    let run = bench.trained("run", &["--quiet"]);
    let page = run.text("report.html");
    fs::remove_file(run.path.join("report.html")).unwrap();
    bench.run(["report", "run"]).expect(0).prints(&["run/report.html"]);
    assert_eq!(run.text("report.html"), page);
    bench.run(["report", "run", "--out", "page.html"]).expect(0);
    assert_eq!(bench.read("page.html"), page);
    bench
        .run(["report", "plugins"])
        .expect(2)
        .says(&["plugins is not a run directory", "run.json"]);
}

#[test]
fn a_pipe_gets_plain_lines_quiet_none_and_json_one_object_a_line() {
    let bench = Bench::new(MORE);
    let (plain, _) = bench.train("plain", &[]);
    plain.expect(0).prints(&[
        "epoch 1/2  iter 1/4  loss ",
        "  lr 0.0010",
        "epoch 2  val  ",
        "  eta ",
    ]);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stdout.contains('\r'), "{}", plain.stdout);

    let (quiet, _) = bench.train("quiet", &["--quiet"]);
    assert_eq!(quiet.expect(0).stdout, "");

    let (ran, run) = bench.train("json", &["--json"]);
    let lines: Vec<Json> =
        ran.expect(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["run_dir"].as_str().unwrap().ends_with("json"));
    assert_eq!(lines[1..lines.len() - 1], run.scalars());
    let last = &lines[lines.len() - 1];
    assert_eq!((&last["outcome"], &last["iter"]), (&"completed".into(), &4.into()));
    assert!(last["metrics"]["val/Accuracy"]["best"]["value"].is_number());
}

#[test]
fn with_json_log_lines_and_failures_are_objects_too() {
    let bench = Bench::new(&hook("TextLoggerHook", "text = \"a \\\"word\\\"\""));
    let objects = |stderr: &str| -> Vec<Json> {
        stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (ran, run) = bench.train("run", &["--json"]);
    let lines = objects(&ran.expect(0).stderr);
    let said = |line: &&Json| line["message"] == "TextLoggerHook: after epoch 2: a \"word\"";
    let line = lines.iter().find(said).unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!((&line["level"], &line["target"]), (&"info".into(), &"plugin".into()));
    // The file of the run stays for people.
    assert!(run.text("log.txt").contains("INFO"));

    let (ran, _) = bench.train("bad", &["--json", "train.max_epochs=none"]);
    let lines = objects(&ran.expect(2).stderr);
    assert_eq!(
        (lines.len(), &lines[0]["level"], &lines[0]["code"]),
        (1, &"error".into(), &2.into())
    );
    assert!(lines[0]["message"].as_str().unwrap().contains("train.max_epochs"), "{lines:?}");
}

#[test]
fn a_folder_with_another_program_s_run_json_gets_no_report() {
    let bench = Bench::new("");
    fs::create_dir(bench.path("theirs")).unwrap();
    for record in ["{", "{\"race\": 17}"] {
        bench.write("theirs/run.json", record);
        let says = "theirs is not a run directory: its run.json was not written by hookrack";
        bench.run(["report", "theirs"]).expect(2).says(&[says]);
        assert!(!bench.path("theirs/report.html").exists());
    }
    bench.run(["report", "plugins"]).expect(2).says(&["plugins is not a run directory: it has no"]);
}

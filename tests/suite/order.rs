//! The order that `hookrack plan` prints is the order in which hooks really run.

use crate::workbench::{Bench, hook};
use hookrack_plugin_api::Point;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Instances in the order of the config, with the level as it is written there.
const CONFIGURED: [(&str, &str); 13] = [
    ("huge", "9223372036854775807"),
    ("lowest", "\"LOWEST\""),
    ("odd_case", "\"hIgHeR\""),
    ("ten", "10"),
    ("thirty", "30"),
    ("normal", "\"Normal\""),
    ("negative", "-7"),
    ("smallest", "-9223372036854775808"),
    ("highest", "\"HIGHEST\""),
    ("unsaid", ""),
    ("between", "33"),
    ("higher", "\"HIGHER\""),
    ("low", "\"low\""),
];

/// The same, as they must run.
const ORDER: [&str; 13] = [
    "smallest", "negative", "highest", "odd_case", "ten", "higher", "thirty", "normal", "unsaid",
    "between", "low", "lowest", "huge",
];

fn recorders() -> String {
    let mut text = String::new();
    for (name, level) in CONFIGURED {
        let level = if level.is_empty() { String::new() } else { format!("level = {level}") };
        write!(
            text,
            "[[custom_hooks]]\ntype = \"Recorder\"\nname = \"{name}\"\nfile = \"calls\"\n{level}\n"
        )
        .unwrap();
    }
    text
}

/// Point by point, the recorders among the hooks that `plan` prints.
fn plan(bench: &Bench) -> BTreeMap<String, Vec<String>> {
    let ran = bench.run(["plan", "config.toml", "--json"]);
    let rows: Vec<Json> = serde_json::from_str(&ran.expect(0).stdout).unwrap();
    let row = |row: &Json| {
        let hooks = row["hooks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hook| hook["hook"].as_str().unwrap().to_owned());
        let recorders = hooks.filter(|hook| ORDER.contains(&hook.as_str())).collect();
        (row["point"].as_str().unwrap().to_owned(), recorders)
    };
    rows.iter().map(row).collect()
}

/// Asserts that every point was reached by all recorders in the planned order; returns the points.
fn reached(plan: &BTreeMap<String, Vec<String>>, calls: &str) -> BTreeSet<String> {
    let calls: Vec<Vec<&str>> = calls.lines().map(|line| line.split(' ').collect()).collect();
    let mut points = BTreeSet::new();
    let mut rest = calls.as_slice();
    while let [first, ..] = rest {
        let (point, planned) = (first[1], &plan[first[1]]);
        let (now, later) = rest.split_at(planned.len().min(rest.len()));
        let ran: Vec<_> = now.iter().map(|call| call[0]).collect();
        assert_eq!(&ran, planned, "at {point}");
        assert!(now.iter().all(|call| call[1..] == first[1..]), "at {point}: {now:?}");
        points.insert(point.to_owned());
        rest = later;
    }
    points
}

#[test]
fn the_printed_order_is_the_order_of_the_calls_in_train_val_test_and_pred() {
    let failing = "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"fails\"\nfile = \"faulty\"\nhow = \"stop\"\n\
                   at = \"before_train\"\niter = 9999\non_error = \"abort\"\nlevel = 9223372036854775807\n";
    let bench = Bench::new(&(recorders() + failing));
    let plan = plan(&bench);

    bench.trained("run", &[]);
    let mut points = reached(&plan, &bench.take("calls"));
    bench.run(["eval", "config.toml", "--checkpoint", "run"]).expect(0);
    points.extend(reached(&plan, &bench.take("calls")));
    bench.run(["predict", "config.toml", "--checkpoint", "run"]).expect(0);
    points.extend(reached(&plan, &bench.take("calls")));
    let fail = [
        "custom_hooks.fails.how=error",
        "custom_hooks.fails.at=after_cycle",
        "custom_hooks.fails.iter=0",
    ];
    bench.train("failed", &fail).0.expect(4);
    points.extend(reached(&plan, &bench.take("calls")));

    let all =
        Point::ALL.iter().filter(|point| !point.is_role()).map(|point| point.name().to_owned());
    assert_eq!(points, all.collect(), "points that were reached, and all that are not roles");
}

#[test]
fn levels_may_be_names_in_any_case_or_any_integers_and_equal_ones_keep_the_order_of_the_config() {
    let bench = Bench::new(&recorders());
    for (point, planned) in plan(&bench) {
        let mut order = ORDER.to_vec();
        if point == "on_detach" {
            order.reverse();
        }
        assert!(planned.is_empty() || planned == order, "at {point}: {planned:?}");
    }
}

#[test]
fn default_hooks_have_distinct_levels_and_run_before_custom_ones_of_the_same_level() {
    let bench = Bench::new(&hook("Recorder", "level = 12\nfile = 'calls'"));
    let ran = bench.run(["plan", "config.toml", "--json"]);
    let rows: Vec<Json> = serde_json::from_str(&ran.expect(0).stdout).unwrap();
    let at = |point: &str| {
        rows.iter().find(|row| row["point"] == point).unwrap()["hooks"].as_array().unwrap().clone()
    };
    let names: Vec<_> = at("after_train_iter")
        .iter()
        .map(|hook| hook["hook"].as_str().unwrap().to_owned())
        .collect();
    let place = |name: &str| names.iter().position(|other| other == name).unwrap();
    assert_eq!(place("Recorder"), place("LossHook") + 1, "{names:?}");

    let mut levels = BTreeMap::new();
    for hook in rows.iter().flat_map(|row| row["hooks"].as_array().unwrap()) {
        if hook["source"] == "built in" && hook["hook"] != "Accuracy" {
            levels.insert(hook["hook"].to_string(), hook["level"].as_i64().unwrap());
        }
    }
    let distinct: BTreeSet<_> = levels.values().collect();
    assert_eq!(distinct.len(), levels.len(), "{levels:?}");
}

#[test]
fn plan_prints_level_name_and_library_of_each_hook() {
    let bench = Bench::new(&hook("EMAIterHook", "name = 'average'\nlevel = 'higher'"));
    let ran = bench.run(["plan", "config.toml"]);
    let line = ran.expect(0).stdout.lines().find(|line| line.starts_with("before_pred ")).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words, ["before_pred", "10", "HIGHER", "average", "libema.so"]);
    ran.prints(&["on_train_forward         role         MainHook"]);
}

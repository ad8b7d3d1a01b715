//! `hookrack test-plugin`: good plugins pass, and each kind of misbehavior fails its case.

use crate::misbehavior::bench;
use crate::workbench::{Bench, Ran};
use crate::workshop::{assert_page, compile_c, repository};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The verdicts by case.
fn verdicts(ran: &Ran) -> BTreeMap<String, (String, String)> {
    let text = |line: &Json, key: &str| line[key].as_str().unwrap().to_owned();
    let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    lines.map(|it| (text(&it, "case"), (text(&it, "verdict"), text(&it, "why")))).collect()
}

#[test]
fn a_bundled_metric_and_a_bundled_hook_pass_every_case() {
    let bench = Bench::bare();
    let metric =
        bench.run(["test-plugin", "plugins/libtopk.so", "--json", "--junit", "report.xml"]);
    let cases = ["state", "run", "host"].into_iter().flat_map(|case| ["--case", case]);
    let hook = bench.run(["test-plugin", "plugins/libema.so", "--json"].into_iter().chain(cases));
    for ran in [&metric, &hook] {
        let verdicts = verdicts(ran);
        assert!(verdicts.values().all(|(verdict, _)| verdict != "failed"), "{verdicts:?}");
        ran.expect(0);
    }
    assert!(verdicts(&metric).len() > 44, "{} cases", verdicts(&metric).len());
    let report = bench.take("report.xml");
    assert!(report.contains("failures=\"0\"") && report.contains("<testcase classname=\"state\""));
}

#[test]
fn each_misbehavior_fails_its_case() {
    for (fixture, case, why) in [
        ("segfault", "run.train", "SIGSEGV"),
        ("writes_through_view", "run.observers", "the weights differ"),
        ("changes_folder", "surroundings.folder", "the working directory has changed"),
        ("leaks", "leaks.run_handles", "tensors"),
        ("writes_through_view", "claims.versions", "it changes a parameter or buffer of the model"),
        ("writes_beyond_buffer", "claims.batch_bounds", "SIGSEGV"),
        ("thread_outlives", "leaks.run_threads", "after"),
        ("refuses_newer_host", "host.newer", "this host is too new"),
        ("fails_at_new_points", "host.newer_points", "an error at point code"),
        ("undeclared_mutation", "run.train", "`aten::zero_` would change a parameter"),
    ] {
        let bench = bench(fixture, "");
        let library = format!("plugins/lib{fixture}.so");
        let ran = bench.run(["test-plugin", &library, "--case", case, "--json"]);
        ran.expect(3);
        let verdicts = verdicts(&ran);
        assert!(verdicts[case].0 == "failed" && verdicts[case].1.contains(why), "{verdicts:?}");
    }
}

#[test]
fn a_case_that_exceeds_its_time_limit_fails() {
    let bench = Bench::bare();
    compile_c("hang_in_constructor", &bench.path("libhang.so"), &["-shared"]);
    let args = ["test-plugin", "libhang.so", "--case", "manifest.loads", "--time-limit", "2"];
    bench.run(args).expect(3).prints(&["failed   manifest.loads", "did not finish within 2 s"]);
}

#[test]
fn the_table_in_the_docs_equals_the_output_of_list() {
    let listed = Bench::bare().run(["test-plugin", "--list"]);
    let docs = std::fs::read_to_string(repository().join("docs/test-plugin.md")).unwrap();
    let (before, rest) = docs.split_once("| case | requirement |").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let gap = if after.is_empty() { "" } else { "\n" };
    let made = format!("{before}{}\n{gap}{after}", listed.expect(0).stdout.trim_end());
    assert_page("docs/test-plugin.md", &made);
}

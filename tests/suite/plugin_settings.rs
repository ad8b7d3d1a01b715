//! Invalid settings of a plugin's hook are shown where they are written.

use crate::workbench::{Bench, TINY};

fn choosy(settings: &str) -> Bench {
    Bench::new(&format!("[[custom_hooks]]\ntype = \"Choosy\"\n{settings}\n"))
}

#[test]
fn a_value_that_a_hook_does_not_take_is_shown_at_its_key() {
    let line = TINY.lines().count() + 3;
    for (setting, says) in [
        ("small = 300", "out of range: 300, must be between 0 and 255"),
        ("count = -1", "out of range: -1, must be at least 0"),
        ("pair = [0.5]", "`pair`: invalid length 1"),
        ("pair = [0.5, 1, 2]", "`pair`: expected 2 values, found 3"),
        ("pair = [0.5, \"x\"]", "`pair.1`: invalid type"),
        ("names = { a = -1 }", "`names.a`: invalid value"),
        ("table = { steps = -1 }", "out of range: -1"),
    ] {
        let ran = choosy(setting).run(["check", "config.toml"]);
        let place = format!("config.toml:{line}:");
        ran.expect(2).says(&[says, &place, &format!("{line} | {setting}")]);
    }
}

#[test]
fn what_may_be_left_out_may_be_and_a_table_has_the_defaults_of_its_settings() {
    let bench = choosy("");
    let log = bench.trained("run", &[]).text("log.txt");
    let wanted =
        "Choosy { small: None, count: None, pair: None, names: None, table: Nested { steps: 7 } }";
    assert!(log.contains(wanted), "{log}");
}

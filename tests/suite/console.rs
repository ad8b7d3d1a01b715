//! What a person sees on a terminal: one line that is redrawn, and what `ProgressBar` makes of it; plain lines elsewhere.

use crate::workbench::{Bench, Ran, program};
use std::process::Command;

/// Runs a training in a terminal of 160 columns and gives everything that was drawn on it.
fn on_a_terminal(bench: &Bench, more: &str) -> String {
    let command = format!(
        "stty rows 40 cols 160; '{}' train config.toml --run-dir run {more}",
        program().display()
    );
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    script.current_dir(bench.path("")).env_remove("LD_LIBRARY_PATH").env("TERM", "xterm");
    let ran = Ran::of(&mut script);
    ran.expect(0);
    ran.stdout
}

/// The drawings of the progress line, without the bar itself.
fn drawn(screen: &str) -> Vec<&str> {
    let lines = screen.split(['\r', '\n']);
    let lines = lines.filter_map(|line| Some(line.split_once("%  ")?.1.trim()));
    lines.filter(|line| !line.is_empty()).collect()
}

const EACH: &str = "[default_hooks.logger]\ninterval = 1\n";

#[test]
fn a_terminal_has_one_line_that_is_redrawn_and_a_line_for_each_evaluation() {
    let screen = on_a_terminal(&Bench::new(EACH), "");
    let drawn = drawn(&screen);
    assert!(drawn.len() >= 2, "{screen}");
    for part in ["epoch 1/2  iter 1/4  loss ", "  lr 0.0010", "  eta "] {
        assert!(drawn[0].contains(part), "{part}: {drawn:?}");
    }
    assert!(drawn.last().unwrap().ends_with(" samples/s"), "{drawn:?}");
    // The line is drawn over itself; an evaluation stays.
    assert_eq!(screen.matches("epoch 1  val  ").count(), 1, "{screen}");
    assert!(!screen.contains("iter 1/4\n"), "{screen}");
    assert!(screen.contains("\u{1b}["), "no line is drawn over: {screen}");
    // What is logged meanwhile stands on lines of its own.
    let logged = drawn.iter().find(|line| line.contains("INFO"));
    assert!(screen.contains("IterationTimerHook: ") && logged.is_none(), "{logged:?}");
}

#[test]
fn the_progress_bar_shows_the_scalars_of_choice_between_what_the_writers_write() {
    let bar = "[[custom_hooks]]\ntype = \"GradNormHook\"\n\
               [[custom_hooks]]\ntype = \"ProgressBar\"\nscalars = [\"grad_norm\", \"val/Accuracy\"]\n";
    let bench = Bench::new(bar);
    // The logger of 20 iterations would not draw in a run of four.
    let screen = on_a_terminal(&bench, "-s default_hooks.logger.interval=1000");
    let drawn = drawn(&screen);
    let first = drawn.first().unwrap_or_else(|| panic!("nothing was drawn: {screen}"));
    assert!(first.starts_with("epoch 1/2  iter 1/4  grad_norm "), "{drawn:?}");
    assert!(!first.contains("loss"), "{drawn:?}");

    // Elsewhere the same scalars stand in plain lines, as often as the writers write.
    let (ran, _) = bench.train("piped", &["-s", "default_hooks.logger.interval=2"]);
    let lines: Vec<_> =
        ran.expect(0).stdout.lines().filter(|line| line.contains("  iter ")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("epoch 2/2  iter 4/4  grad_norm "), "{lines:?}");
    assert!(lines[1].contains("val/Accuracy "), "{lines:?}");
    let (ran, _) = bench.train("quiet", &["--quiet"]);
    assert_eq!(ran.expect(0).stdout, "");
}

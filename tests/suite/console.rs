//! The console on a terminal: one line that is redrawn, as `ProgressBar` configures it; plain lines elsewhere.

use crate::workbench::{Bench, Ran, faulty, hook, program};
use std::process::Command;

/// Runs a shell line in a terminal and returns everything that was drawn. `{}` is the program.
fn terminal(bench: &Bench, columns: u32, environment: &[(&str, &str)], line: &str) -> Ran {
    let line = line.replace("{}", &format!("'{}'", program().display()));
    let command = format!("stty rows 40 cols {columns}; {line}");
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    script.current_dir(bench.path("")).env_remove("LD_LIBRARY_PATH").env("TERM", "xterm");
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        script.env_remove(name);
    }
    Ran::of(script.envs(environment.iter().copied()))
}

/// Runs a training in a terminal of 160 columns and returns everything that was drawn.
fn on_a_terminal(bench: &Bench, more: &str) -> String {
    let ran = terminal(bench, 160, &[], &format!("{{}} train config.toml --run-dir run {more}"));
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
    // Log lines are on separate lines.
    let logged = drawn.iter().find(|line| line.contains("INFO"));
    assert!(screen.contains("IterationTimerHook: ") && logged.is_none(), "{logged:?}");
}

#[test]
fn a_launched_run_draws_its_line_and_other_ranks_say_who_they_are() {
    let hello = "how = 'shell'\ncommand = 'echo hello from rank $RANK >&2'";
    let bench = Bench::new(&(EACH.to_owned() + &faulty("hello", "before_train_iter", hello)));
    let ran = terminal(&bench, 160, &[], "{} launch -n 2 -- train config.toml --fast-dev-run");
    let screen = &ran.expect(0).stdout;
    assert!(!drawn(screen).is_empty(), "{screen}");
    assert!(screen.contains("\u{1b}[2K[1] hello from rank 1\r\n"), "{screen}");
    assert!(screen.contains("hello from rank 0") && !screen.contains("[0] "), "{screen}");
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

    // Elsewhere the same scalars are in plain lines, whenever the writers write.
    let (ran, _) = bench.train("piped", &["default_hooks.logger.interval=2"]);
    let lines: Vec<_> =
        ran.expect(0).stdout.lines().filter(|line| line.contains("  iter ")).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("epoch 2/2  iter 4/4  grad_norm "), "{lines:?}");
    assert!(lines[1].contains("val/Accuracy "), "{lines:?}");
    let (ran, _) = bench.train("quiet", &["--quiet"]);
    assert_eq!(ran.expect(0).stdout, "");
}

#[test]
fn a_slow_pass_draws_its_progress_on_a_terminal_and_nowhere_else() {
    let slow = "[[custom_hooks]]\ntype = \"Faulty\"\nfile = \"own\"\nat = \"after_val_iter\"\n\
                how = \"shell\"\ncommand = \"sleep 0.15\"\n";
    let bench = Bench::new(slow);
    let screen = on_a_terminal(&bench, "");
    assert!(screen.contains("%  epoch 1  val 1/2"), "{screen}");
    let quiet = terminal(&bench, 160, &[], "{} train config.toml --run-dir quiet --quiet");
    assert!(!quiet.expect(0).stdout.contains("val 1/2"), "{}", quiet.stdout);
    for (command, split) in [("eval", "test"), ("predict", "pred")] {
        let long = format!("data.{split}.samples=200000");
        let line = format!("{{}} {command} config.toml --checkpoint run -s {long}");
        let screen = terminal(&bench, 160, &[], &line).expect(0).stdout.clone();
        let is_drawn =
            screen.contains(&format!("%  epoch 2  {split} ")) && screen.contains("/50000");
        assert!(is_drawn, "{screen}");
        let ran = bench.run([command, "config.toml", "--checkpoint", "run", "-s", &long]);
        assert!(!ran.expect(0).stdout.contains("/50000"), "{}", ran.stdout);
    }
}

#[test]
fn a_narrow_terminal_keeps_the_loss_and_drops_the_bar() {
    let line = "{} train config.toml --run-dir run";
    let screen = terminal(&Bench::new(EACH), 50, &[], line).expect(0).stdout.clone();
    assert!(screen.contains("iter 1/4  loss ") && screen.contains("  lr 0.0010"), "{screen}");
    assert!(!screen.contains('%') && !screen.contains('█'), "a bar is drawn: {screen}");
    let wide = terminal(&Bench::new(EACH), 80, &[], line).expect(0).stdout.clone();
    assert!(wide.contains("%  epoch 1/2  iter 1/4  loss "), "{wide}");
}

#[test]
fn a_dumb_terminal_has_plain_lines() {
    let dumb = [("TERM", "dumb")];
    let ran = terminal(&Bench::new(EACH), 160, &dumb, "{} train config.toml --run-dir run");
    let screen = &ran.expect(0).stdout;
    assert!(!screen.contains('\u{1b}'), "{screen}");
    for part in ["epoch 1/2  iter 1/4  loss ", "epoch 2  val  Accuracy ", "completed after 2"] {
        assert_eq!(screen.matches(part).count(), 1, "{part}: {screen}");
    }
}

#[test]
fn colors_follow_the_flag_then_the_environment_then_the_terminal() {
    let bench = Bench::new("wrong = 1\n");
    let colored = |environment: &[(&str, &str)], line: &str| {
        let ran = terminal(&bench, 80, environment, line);
        let wrong = ran.code == Some(2) && ran.stdout.contains("`wrong`");
        assert!(wrong, "{line}: {}", ran.stdout);
        ran.stdout.contains('\u{1b}')
    };
    let (plain, piped) =
        ("{} check config.toml", "set -o pipefail; {} check config.toml 2>&1 | cat");
    assert!(colored(&[], plain));
    assert!(!colored(&[("NO_COLOR", "1")], plain));
    assert!(!colored(&[("TERM", "dumb")], plain));
    assert!(!colored(&[("CLICOLOR", "0")], plain));
    assert!(!colored(&[], &format!("{plain} --color never")));
    assert!(colored(&[("NO_COLOR", "1")], &format!("{plain} --color=always")));
    // The shell of `script` may know no pipefail.
    let piped = format!("bash -c \"{piped}\"");
    assert!(!colored(&[], &piped));
    assert!(colored(&[("CLICOLOR_FORCE", "1")], &piped));
    // Log lines and the progress line too.
    let trained = |environment: &[(&str, &str)], run: &str| {
        let bench = Bench::new(EACH);
        let line = format!("{{}} train config.toml --run-dir {run} -v");
        terminal(&bench, 160, environment, &line).expect(0).stdout.clone()
    };
    let color = "\u{1b}[32m";
    assert!(trained(&[], "run").contains(color));
    let plain = trained(&[("NO_COLOR", "1")], "run");
    let is_color = |code: &str| code.split_once('m').is_some_and(|(n, _)| n.parse::<u8>().is_ok());
    assert!(!plain.split("\u{1b}[").skip(1).any(is_color), "{plain}");
}

#[test]
fn a_second_interrupt_leaves_the_terminal_to_the_prompt() {
    // Until its process has ended, which `kill` would report in the midst of the prompt.
    let again = "while kill -INT $PPID 2>/dev/null; do sleep 0.05; done";
    let again = format!("iter = 3\nhow = 'shell'\ncommand = '{again}'");
    let bench = Bench::new(&(EACH.to_owned() + &faulty("again", "after_train_iter", &again)));
    let line = "{} train config.toml --run-dir run; printf 'exit %s> ' $?";
    let screen = terminal(&bench, 160, &[], line).stdout;
    let end = "\r\u{1b}[2K\u{1b}[?25hinterrupted twice: quitting without saving\r\nexit 130> ";
    assert!(screen.ends_with(end), "{screen:?}");
    assert!(screen.contains("interrupt again to quit immediately"), "{screen:?}");
    assert!(screen.contains("%  epoch 1/2  iter 1/4"), "nothing was drawn before: {screen:?}");
}

#[test]
fn each_level_of_verbosity_says_more() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    let lines = |level: &str| {
        let args = ["train", "config.toml", "--run-dir", &format!("run{level}"), level];
        let ran = bench.run(args.iter().filter(|arg| !arg.is_empty()));
        let stderr = ran.expect(0).stderr.clone();
        let count = |word: &str| stderr.lines().filter(|line| line.contains(word)).count();
        (count("TRACE "), count("DEBUG "), count("INFO hookrack"), stderr)
    };
    let (trace, debug, info, _) = lines("");
    assert_eq!((trace, debug, info), (0, 0, 0));
    let (trace, debug, info, said) = lines("-v");
    assert!(trace == 0 && debug == 0 && info > 10, "{said}");
    assert!(said.contains("model MLP with 67 parameters") && said.contains("plan: "), "{said}");
    let (trace, debug, _, said) = lines("-vv");
    assert!(trace == 0 && debug > 0, "{said}");
    for part in ["read config file ", "loaded ", "data.val: Synthetic, 8 samples", "epoch 2 begins"]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let (_, _, _, said) = lines("-vvv");
    assert!(said.contains("iter 4: LossHook at after_train_iter, "), "{said}");
    // `check` builds the same.
    let ran = bench.check(&["-vv"]);
    ran.expect(0).says(&["model MLP with 67 parameters", "data.train: Synthetic"]);
}

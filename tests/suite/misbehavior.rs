//! Runs with plugins that misbehave: one case for each folder of `fixtures/libraries` with a `run.txt`.
//!
//! `run.txt` has the expected end of the run (`exit CODE` or `signal NAME`, optional), settings (`set KEY=VALUE`), and texts that standard
//! error must contain, one per line.

use crate::patience::output;
use crate::workbench::{Bench, Ran, hook};
use crate::workshop::{compile_c, fixtures};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

/// The hook of a case: `view_after_resize` has `ViewAfterResize`.
fn hook_name(case: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    case.split('_').map(word).collect()
}

/// A bench with the library of a case, configured as a hook.
pub(crate) fn bench(case: &str, more: &str) -> Bench {
    bench_at(3, case, more)
}

/// The same with a library that misbehaves after another iteration than the third.
pub(crate) fn bench_at(iter: u64, case: &str, more: &str) -> Bench {
    let bench = Bench::new(&format!("[[custom_hooks]]\ntype = \"{}\"\n{more}", hook_name(case)));
    let (library, at) = (bench.path(&format!("plugins/lib{case}.so")), format!("-DAT_ITER={iter}"));
    compile_c(case, &library, &["-shared", "-pthread", &at]);
    bench
}

/// A run of a case: its output, how it ended, and its crash report.
struct Trial {
    ran: Ran,
    signal: Option<i32>,
    crash: String,
}

fn trial(case: &str, settings: &[&str]) -> Trial {
    let bench = bench(case, "");
    let train = ["train", "config.toml", "--run-dir", "run"];
    let output = output(&mut bench.command(train.iter().chain(settings))).unwrap();
    let signal = output.status.signal();
    Trial { ran: output.into(), signal, crash: bench.read("run/crash.json") }
}

fn signal_number(name: &str) -> i32 {
    match name {
        "SIGSEGV" => 11,
        "SIGABRT" => 6,
        "SIGTRAP" => 5,
        "SIGALRM" => 14,
        other => panic!("{other}"),
    }
}

/// The differences between a run of a case and its `run.txt`.
fn faults(case: &Path) -> Vec<String> {
    let name = case.file_name().unwrap().to_str().unwrap();
    let expected = fs::read_to_string(case.join("run.txt")).unwrap();
    let settings: Vec<_> = expected.lines().filter_map(|line| line.strip_prefix("set ")).collect();
    let Trial { ran, signal, crash } = trial(name, &settings);
    let mut faults = Vec::new();
    for line in expected.lines().filter(|line| !line.starts_with("set ")) {
        let holds = match line.split_once(' ') {
            Some(("exit", code)) => ran.code == Some(code.parse().unwrap()),
            Some(("signal", it)) => signal == Some(signal_number(it)),
            _ => ran.stderr.contains(line.trim_end()),
        };
        if !holds {
            faults.push(format!("{name}: missing: {line}"));
        }
    }
    if ran.stderr.contains("; details: ") {
        let crash: serde_json::Value = serde_json::from_str(&crash).unwrap_or_default();
        let message = crash["message"].as_str().unwrap_or("no message");
        // Another thread may crash later.
        let is_here = crash["on_training_thread"] == false || crash["iteration"] == 3;
        if !ran.stderr.contains(message) || !is_here {
            faults.push(format!("{name}: crash.json has {crash}"));
        }
    }
    if !faults.is_empty() {
        faults.push(format!("{name}: {:?}, signal {signal:?}\n{}", ran.code, ran.stderr));
    }
    faults
}

/// The fixtures without an expectation in a file of their own, and the test that says what they do.
const ELSEWHERE: [(&str, &str); 20] = [
    ("crash_in_destructor", "misbehavior.rs"),
    ("cpp_throw_in", "misbehavior.rs"),
    ("crash_outside_of_a_probe", "misbehavior.rs"),
    ("evolving", "abi_evolution.rs"),
    ("executable", "loader.rs"),
    ("fails_at_new_points", "test_plugin.rs"),
    ("good", "loader.rs"),
    ("handed_on", "second_pass.rs"),
    ("missing_dependency", "loader.rs"),
    ("newer_minor", "loader.rs"),
    ("orca_points", "loader.rs"),
    ("panic_abort", "loader.rs"),
    ("panic_in_root", "loader.rs"),
    ("pries", "trust.rs"),
    ("refuses_newer_host", "test_plugin.rs"),
    ("reserved_param", "plugin_folders.rs"),
    ("shows_maps", "trust.rs"),
    ("vandal", "trust.rs"),
    ("writes_beyond_buffer", "test_plugin.rs"),
    ("writes_in_constructor", "trust.rs"),
];

/// The whole table: a fixture has one expectation, beside it or in a test.
#[test]
fn every_library_fixture_has_one_expectation() {
    let mut wrong = Vec::new();
    let folders = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
    let mut names = Vec::new();
    for folder in folders.filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let files = ["message.txt", "probe.txt", "run.txt"];
        let beside = files.iter().filter(|file| folder.join(file).exists()).count();
        let elsewhere = ELSEWHERE.iter().filter(|(case, _)| *case == name).count();
        if beside + elsewhere != 1 {
            wrong.push(format!("{name}: {beside} beside it, {elsewhere} in tests"));
        }
        names.push(name);
    }
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite");
    for (case, test) in ELSEWHERE {
        let text = fs::read_to_string(suite.join(test)).unwrap();
        if !names.iter().any(|name| name == case) || !text.contains(&format!("\"{case}")) {
            wrong.push(format!("{case}: not a fixture, or not in {test}"));
        }
    }
    assert!(
        wrong.is_empty() && names.len() >= 70,
        "{} fixtures\n{}",
        names.len(),
        wrong.join("\n")
    );
}

#[test]
fn each_misbehavior_is_handled_as_its_run_txt_says() {
    let mut cases: Vec<_> = fs::read_dir(fixtures()).unwrap().map(|e| e.unwrap().path()).collect();
    cases.retain(|case| case.join("run.txt").exists());
    cases.sort();
    assert!(cases.len() >= 20, "{} cases", cases.len());
    let faults: Vec<_> = cases.iter().flat_map(|case| faults(case)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_crash_report_has_hook_point_service_and_a_backtrace_with_the_plugin() {
    let crash: serde_json::Value = serde_json::from_str(&trial("segfault", &[]).crash).unwrap();
    assert_eq!(
        (&crash["what"], &crash["library"], &crash["hook"], &crash["point"]),
        (
            &"SIGSEGV".into(),
            &"libsegfault.so".into(),
            &"Segfault".into(),
            &"after_train_iter".into()
        )
    );
    assert_eq!((&crash["address"], &crash["on_training_thread"]), (&"0x0".into(), &true.into()));
    let frames = crash["backtrace"].as_array().unwrap();
    assert!(frames[0].as_str().unwrap().starts_with("libsegfault.so+0x"), "{crash}");
    assert!(frames.iter().any(|it| it.as_str().unwrap().starts_with("hookrack+0x")), "{crash}");
}

#[test]
fn a_call_through_a_null_pointer_is_reported_with_its_caller() {
    let crash: serde_json::Value = serde_json::from_str(&trial("null_call", &[]).crash).unwrap();
    assert_eq!((&crash["instruction"], &crash["address"]), (&"0x0".into(), &"0x0".into()));
    assert!(crash["backtrace"][0].as_str().unwrap().starts_with("libnull_call.so+0x"), "{crash}");
}

#[test]
fn a_process_that_a_plugin_forks_is_none_of_the_run() {
    let bench = bench("forks", "");
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0);
    assert_eq!(run.record()["outcome"], "completed");
    assert!(!run.path.join("crash.json").exists() && !ran.stderr.contains("details: "));
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
}

#[test]
fn an_exception_that_leaves_any_function_of_a_hook_is_named() {
    for function in ["CREATE", "SAVE", "DESTROY"] {
        let bench = Bench::new(&hook("CppThrowIn", ""));
        let library = bench.path("plugins/libcpp_throw_in.so");
        compile_c("cpp_throw_in", &library, &["-shared", &format!("-DIN_{function}=true")]);
        let (ran, run) = bench.train("run", &[]);
        assert_eq!(ran.code, None, "ended by a signal");
        ran.says(&["error: SIGABRT in libcpp_throw_in.so, CppThrowIn, iteration "]);
        assert!(run.path.join("crash.json").exists(), "{function}");
    }
}

#[test]
fn a_library_that_ends_the_process_while_it_is_loaded_is_named_by_every_command() {
    let bench = Bench::new(&hook("CrashOutsideOfAProbe", ""));
    let library = bench.path("plugins/libcrash_outside_of_a_probe.so");
    let while_loaded = "in libcrash_outside_of_a_probe.so, while it was loaded";
    compile_c("crash_outside_of_a_probe", &library, &["-shared"]);
    for command in ["train", "check", "plan", "config"] {
        let ran = bench.run([command, "config.toml"]);
        assert_eq!(ran.code, None, "ended by a signal");
        ran.says(&[&format!("error: SIGSEGV {while_loaded}")]);
    }
    compile_c("crash_outside_of_a_probe", &library, &["-shared", "-DEXIT"]);
    bench.check(&[]).expect(3).says(&[&format!("error: exit() {while_loaded}")]);
}

#[test]
fn a_library_whose_destructor_would_crash_does_not_change_the_end_of_a_run() {
    let bench = Bench::new(&hook("CrashInDestructor", ""));
    let library = bench.path("plugins/libcrash_in_destructor.so");
    compile_c("crash_in_destructor", &library, &["-shared"]);
    for (name, more) in [("run", &[][..]), ("supervised", &["--supervise"])] {
        let (ran, run) = bench.train(name, more);
        ran.expect(0);
        assert_eq!(run.record()["outcome"], "completed");
    }
}

#[test]
fn a_hook_that_is_created_to_check_a_config_is_named_if_it_crashes() {
    let bench = Bench::new(&hook("CppThrowIn", ""));
    let library = bench.path("plugins/libcpp_throw_in.so");
    compile_c("cpp_throw_in", &library, &["-shared", "-DIN_CREATE=true"]);
    let ran = bench.check(&[]);
    assert_eq!(ran.code, None, "ended by a signal");
    ran.says(&["error: SIGABRT in libcpp_throw_in.so, CppThrowIn, iteration 0"]);
}

#[test]
fn a_hook_that_hangs_in_an_evaluation_is_named_and_a_signal_ends_it() {
    let bench = Bench::new(&hook("Hang", ""));
    let points = "-DPOINTS=\"\\\"before_test\\\"\"";
    compile_c("hang", &bench.path("plugins/libhang.so"), &["-shared", "-DWHEN=1", points]);
    bench.trained("run", &[]);
    let limit = ["train.hang_seconds=0.5"];
    let ran = bench.run(["eval", "config.toml", "--checkpoint", "run"].iter().chain(&limit));
    ran.expect(143).says(&[
        "hook `Hang` (libhang.so) has not returned from before_test for ",
        "ending without saving, because SIGTERM has requested the end of the run",
    ]);
    assert!(!ran.stderr.contains("interrupted twice"), "{}", ran.stderr);
}

#[test]
fn a_crash_in_an_evaluation_is_named_on_standard_error() {
    let bench = Bench::new(&hook("Segfault", ""));
    let points = "-DPOINTS=\"\\\"before_test\\\"\"";
    let library = bench.path("plugins/libsegfault.so");
    compile_c("segfault", &library, &["-shared", "-DWHEN=1", points]);
    bench.trained("run", &[]);
    let ran = bench.run(["eval", "config.toml", "--checkpoint", "run"]);
    assert_eq!(ran.code, None, "ended by a signal");
    let said = ran.says(&["error: SIGSEGV in libsegfault.so, Segfault at before_test, iteration "]);
    assert!(!said.stderr.contains("details"), "{}", said.stderr);
}

#[test]
fn a_plugin_that_changes_the_working_directory_does_not_affect_the_run() {
    let bench = bench("changes_folder", "");
    let run = bench.trained("run", &[]);
    assert_eq!(run.record()["outcome"], "completed");
    assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"]);
}

const SLOW: &str = "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"slow\"\nfile = \"own\"\nat = \"after_train_iter\"\n\
                    iter = 1\nhow = \"shell\"\ncommand = \"sleep 0.3\"\nmax_ms = 100\n";

#[test]
fn a_call_longer_than_max_ms_is_reported_and_can_disable_the_hook() {
    let bench = Bench::new(SLOW);
    let (ran, _) = bench.train("run", &[]);
    ran.expect(0).says(&[
        "hook `slow` (libfaulty.so) took ",
        "ms at after_train_iter, longer than max_ms = 100",
    ]);
    let (ran, _) = bench.train("disabled", &["custom_hooks.slow.on_slow=disable"]);
    ran.expect(0).says(&["(slow call 1); it is disabled for the rest of the run"]);
    let (ran, _) = bench.train("thinned", &["custom_hooks.slow.on_slow=thin"]);
    ran.expect(0).says(&["(slow call 1); from now on it is called only once in 2 times"]);
}

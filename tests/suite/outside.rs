//! Plugins that are made, compiled and dropped in outside of this workspace, while the program stays the same file.

use crate::patience::output;
use crate::workbench::{Bench, TINY, hook, program, run_in};
use crate::workshop::repository;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn sha256(path: &Path) -> Vec<u8> {
    Sha256::digest(fs::read(path).unwrap()).to_vec()
}

/// A plugin's tree of crates stays small: this is what every author compiles.
const MOST_CRATES: usize = 35;

/// Where all of these are built: the crates that they share are compiled once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside")
}

/// Runs cargo in a crate's folder, with the workspace's versions; returns its output.
pub(crate) fn cargo(dir: &Path, args: &[&str]) -> String {
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(args).arg("--offline").current_dir(dir).env("CARGO_TARGET_DIR", target());
    let ran = output(&mut cargo).unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}{err}");
    assert!(!err.contains("warning"), "{err}");
    out.into_owned()
}

/// Builds a crate; returns the folder with its library.
fn cargo_build(dir: &Path) -> PathBuf {
    cargo(dir, &["build", "--quiet"]);
    target().join("debug")
}

/// Three plugins in Rust, one of each kind, made by the program and built once for all tests. The first carries the SDK,
/// the others share it: plugin-api is compiled once. They lie at one place, so that cargo finds what it built before.
fn made_in_rust() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made");
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let make = |args: &[&str]| {
            run_in(&root, ["new-plugin"].iter().chain(args)).expect(0).prints(&["README.md"]);
        };
        make(&["loss-logger"]);
        make(&["mean-loss", "--kind", "metric", "--sdk", "loss-logger/sdk"]);
        make(&["skip-spikes", "--kind", "role", "--sdk", "loss-logger/sdk"]);
        for name in ["loss-logger", "mean-loss", "skip-spikes"] {
            cargo(&root.join(name), &["test", "--quiet"]);
            let built = cargo_build(&root.join(name));
            let file = format!("lib{}.so", name.replace('-', "_"));
            fs::copy(built.join(&file), root.join(file)).unwrap();
        }
        root
    })
}

/// What a run with one plugin of each kind must show; the limit of the role is so low that it skips every update.
const ENTRIES: &str = r#"
[[custom_hooks]]
type = "LossLoggerHook"
every = "3it"
digits = 2
[[custom_hooks]]
type = "SkipSpikesHook"
limit = 0.0
[[metrics]]
type = "MeanLoss"
phase = ["train", "val"]
"#;

fn runs_all_three(bench: &Bench) {
    let before = sha256(program());
    let run = bench.trained("run", &[]);
    let log = run.text("log.txt");
    assert!(log.contains("LossLoggerHook: iteration 3: loss "), "{log}");
    let line = log.lines().find(|line| line.contains("iteration 3: loss ")).unwrap();
    let digits = line.rsplit_once('.').unwrap().1;
    assert_eq!(digits.trim().len(), 2, "{line}");
    assert!(!log.contains("iteration 2: loss ") && !log.contains("iteration 4: loss "), "{log}");
    assert!(log.contains("SkipSpikesHook: iteration 4: skipped the update"), "{log}");
    let (mean, loss) = (run.scalar("val/MeanLoss"), run.scalar("val/loss"));
    assert!((mean - loss).abs() < 1e-6, "{mean} is not {loss}");
    let names: Vec<_> = run.record()["plugins"].as_array().unwrap().clone();
    let is_loaded =
        |name: &str| names.iter().any(|one| one["name"] == name && one["version"] == "0.1.0");
    assert!(["loss-logger", "mean-loss", "skip-spikes"].into_iter().all(is_loaded), "{names:?}");
    assert_eq!(sha256(program()), before, "the program is another file now");
}

#[test]
fn new_rust_plugins_pass_their_tests_and_run_in_the_same_program_by_config_entries_alone() {
    let bench = Bench::new(ENTRIES);
    for name in ["loss_logger", "mean_loss", "skip_spikes"] {
        let file = format!("lib{name}.so");
        fs::copy(made_in_rust().join(&file), bench.path("plugins").join(file)).unwrap();
    }
    let inspected = run_in(made_in_rust(), ["inspect", "libloss_logger.so"]);
    inspected.expect(0).prints(&[
        "hook LossLoggerHook\n  Logs the loss.\n  points   after_train_iter\n  level    30 NORMAL\n  every    10it\n",
        "digits           int        default 4        Digits after the decimal point.",
    ]);
    runs_all_three(&bench);
}

#[test]
fn a_new_rust_plugin_has_few_dependencies_and_no_path_to_the_source_tree() {
    let dir = made_in_rust().join("loss-logger");
    let tree = ["tree", "-e", "normal,build", "--prefix", "none", "--no-dedupe"];
    let tree = cargo(&dir, &tree);
    assert!(!tree.contains(&repository().join("plugin-api").display().to_string()), "{tree}");
    let crates: BTreeSet<_> = tree.lines().filter_map(|line| line.split(" (").next()).collect();
    assert!(crates.len() <= MOST_CRATES, "{} crates: {crates:?}", crates.len());
}

#[test]
fn the_fake_trainer_is_in_the_tests_of_a_new_rust_plugin_and_not_in_its_library() {
    let dir = made_in_rust().join("loss-logger");
    let features = |edges: &str| cargo(&dir, &["tree", "-e", edges]);
    let testing = "hookrack-plugin-api feature \"testing\"";
    let (shipped, tested) = (features("normal,build,features"), features("dev,normal,features"));
    assert!(!shipped.contains(testing), "{shipped}");
    assert!(tested.contains(testing), "{tested}");
}

/// Makes one plugin of each kind in a language that `make` compiles, without a warning, and puts them into the plugins.
fn make_in(bench: &Bench, lang: &str) {
    for (name, kind) in [("loss-logger", "hook"), ("mean-loss", "metric"), ("skip-spikes", "role")]
    {
        let dir = format!("made/{name}");
        let args = ["new-plugin", name, "--lang", lang, "--kind", kind, "--dir", &dir];
        bench.run(args).expect(0);
        let mut make = Command::new("make");
        let strict = "-O1 -Wall -Wextra -Wpedantic -Werror";
        make.args(["--silent", &format!("CFLAGS={strict}"), &format!("CXXFLAGS={strict}")]);
        let built = output(make.current_dir(bench.path(&dir))).unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let file = format!("lib{}.so", name.replace('-', "_"));
        fs::copy(bench.path(&dir).join(&file), bench.path("plugins").join(file)).unwrap();
    }
}

#[test]
fn new_c_plugins_build_without_a_warning_and_run() {
    let bench = Bench::new(ENTRIES);
    make_in(&bench, "c");
    runs_all_three(&bench);
}

#[test]
fn new_cpp_plugins_build_without_a_warning_and_run() {
    let bench = Bench::new(ENTRIES);
    make_in(&bench, "cpp");
    runs_all_three(&bench);
}

/// A metric's state is restored on resume, and a setting out of range is shown at its line, in each language.
#[test]
fn plugins_in_c_and_cpp_keep_state_and_have_their_settings_checked() {
    for lang in ["c", "cpp"] {
        let bench = Bench::new(ENTRIES);
        make_in(&bench, lang);
        bench.trained("run", &["train.max_epochs=1"]);
        bench.trained("run", &["--resume"]);
        bench.replace("digits = 2", "digits = 18");
        bench.check(&[]).expect(2).says(&["18", "must be between 0 and 17"]);
        bench.replace("digits = 18", "digit = 2");
        bench.check(&[]).expect(2).says(&["digit", "digits"]);
    }
}

/// The program in a folder of its own.
fn installed(folder: &Path) -> PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::copy(program(), bin.join("hookrack")).unwrap();
    bin.join("hookrack")
}

/// A command without this process's environment, but for where compilers and cargo's crates are.
fn bare(program: &Path, folder: &Path, args: &[&str]) {
    let mut command = Command::new(program);
    command.env_clear().current_dir(folder).args(args).env("CARGO_TARGET_DIR", target());
    for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let ran = output(&mut command).unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{} {args:?}: {said}", program.display());
}

#[test]
fn the_program_alone_makes_hooks_that_build_and_run_without_the_repository() {
    let elsewhere = tempfile::tempdir().unwrap();
    let hookrack = installed(&elsewhere.path().join("hookrack"));
    for (lang, build, library) in [
        (
            "rust",
            &["cargo", "build", "--quiet", "--offline"][..],
            target().join("debug/libmoved.so"),
        ),
        ("c", &["make", "--silent"], PathBuf::from("libmoved.so")),
        ("cpp", &["make", "--silent"], PathBuf::from("libmoved.so")),
    ] {
        let work = elsewhere.path().join(lang);
        let plugin = work.join("moved");
        fs::create_dir(&work).unwrap();
        bare(&hookrack, &work, &["new-plugin", "moved", "--lang", lang]);
        if lang == "rust" {
            fs::copy(repository().join("Cargo.lock"), plugin.join("Cargo.lock")).unwrap();
        }
        bare(Path::new(build[0]), &plugin, &build[1..]);
        fs::create_dir(work.join("plugins")).unwrap();
        fs::copy(plugin.join(library), work.join("plugins/libmoved.so")).unwrap();
        let entry = "[[custom_hooks]]\ntype = \"MovedHook\"\nevery = \"2it\"\n";
        fs::write(work.join("config.toml"), format!("{TINY}{entry}")).unwrap();
        bare(&hookrack, &work, &["train", "config.toml", "--run-dir", "run"]);
        let log = fs::read_to_string(work.join("run/log.txt")).unwrap();
        assert!(log.contains("MovedHook: iteration 4: loss "), "{lang}: {log}");
    }
}

#[test]
fn sdk_writes_what_plugins_are_built_with_and_leaves_other_folders_alone() {
    let bench = Bench::bare();
    bench.run(["sdk", "kit"]).expect(0).prints(&["wrote hookrack-plugin-api 1.", "to kit"]);
    assert!(bench.path("kit/plugin-api/src/lib.rs").is_file());
    assert!(bench.path("kit/plugin-api/macros/Cargo.toml").is_file());
    assert!(bench.path("kit/include/hookrack.hpp").is_file());
    bench.run(["sdk", "kit"]).expect(0);
    bench.run(["sdk", "headers", "--headers"]).expect(0);
    assert!(!bench.path("headers/plugin-api").exists());
    bench.run(["sdk", "plugins"]).expect(2).says(&["plugins is not empty and is not an SDK"]);
    bench.run(["new-plugin", "x", "--sdk", "plugins"]).expect(2).says(&["plugins is not an SDK"]);
}

#[test]
fn new_plugin_refuses_a_folder_that_is_taken_and_a_name_that_is_none() {
    let bench = Bench::bare();
    bench.run(["new-plugin", "x", "--dir", "plugins"]).expect(2).says(&["plugins is not empty"]);
    bench.run(["new-plugin", "9 lives"]).expect(2);
}

/// Builds a crate with these dependencies and this code, and drops its library into the plugins.
fn author(bench: &Bench, name: &str, dependencies: &str, code: &str) {
    let dir = bench.path(name);
    fs::create_dir_all(dir.join("src")).unwrap();
    let api = repository().join("plugin-api");
    let dependencies = dependencies.replace("{api}", &api.display().to_string());
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.3.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\"]\n\
         [dependencies]\n{dependencies}\n[workspace]\n"
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.join("src/lib.rs"), code).unwrap();
    let library = format!("lib{name}.so");
    fs::copy(cargo_build(&dir).join(&library), bench.path("plugins").join(library)).unwrap();
}

/// The hook that README.md and the guide show: the same text in both.
fn shown() -> String {
    let block = |page: &str| {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        let blocks = text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        blocks.map(str::to_owned).find(|code| code.contains("export_plugin!")).unwrap()
    };
    let (readme, guide) = (block("README.md"), block("docs/plugin-guide.md"));
    assert_eq!(readme, guide, "README.md and the guide show different hooks");
    readme
}

#[test]
fn the_hook_of_the_readme_has_12_lines_compiles_as_it_is_and_runs_as_often_as_the_config_says() {
    let code = shown();
    assert_eq!(code.lines().filter(|line| !line.trim().is_empty()).count(), 12, "{code}");
    let bench = Bench::new(&hook("LossLogger", "every = '3it'"));
    author(&bench, "shown", "hookrack-plugin-api = { path = '{api}' }", &code);
    let log = bench.trained("run", &[]).text("log.txt");
    assert!(log.contains("iteration 3: loss ") && !log.contains("iteration 2: loss "), "{log}");
}

/// What the design promises an author may write, and a hook with LiBai's names for its points.
const AUTHORED: &str = r#"
use hookrack_plugin_api::prelude::*;

/// Keeps an exponential moving average of the parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ema { #[serde(default = "momentum")] momentum: f64, #[serde(skip)] shadow: TensorList }
fn momentum() -> f64 { 0.999 }

#[hook(level = NORMAL, mutates = "nothing")]
impl Hook for Ema {
    fn before_train(&mut self, t: &mut Trainer) -> Result<()> { self.shadow = t.params().clone_detached()?; Ok(()) }
    fn after_train_iter(&mut self, t: &mut Trainer) -> Result<()> { self.shadow.lerp_(&t.params(), 1.0 - self.momentum) }
}

/// Counts steps.
#[derive(Deserialize)]
struct Steps { #[serde(skip)] begun: u64, #[serde(skip)] done: u64 }

#[hook(level = -3)]
impl Hook for Steps {
    fn before_step(&mut self, _t: &mut Trainer) -> Result<()> { self.begun += 1; Ok(()) }
    fn after_step(&mut self, _t: &mut Trainer) -> Result<()> { self.done += 1; Ok(()) }
    fn after_train(&mut self, _t: &mut Trainer) -> Result<()> { info!("{} of {} steps", self.done, self.begun); Ok(()) }
}

export_plugin! { hooks: [Ema as "AuthoredEma", Steps] }
"#;

#[test]
fn the_hook_of_the_design_compiles_as_it_is_and_runs_and_steps_are_training_iterations() {
    let bench = Bench::new(
        "[[custom_hooks]]\ntype = \"AuthoredEma\"\nmomentum = 0.5\n[[custom_hooks]]\ntype = \"Steps\"\n",
    );
    author(&bench, "authored", "hookrack-plugin-api = { path = '{api}' }\nserde = \"1\"", AUTHORED);

    let inspected = run_in(&bench.path("plugins"), ["inspect", "libauthored.so"]);
    inspected.expect(0).prints(&[
        "authored 0.3.0",
        "hook AuthoredEma\n  Keeps an exponential moving average of the parameters.\n  points   before_train, after_train_iter\n",
        "level    30 NORMAL",
        "momentum         float      default 0.999",
        "hook Steps\n  Counts steps.\n  points   before_train_iter, after_train_iter, after_train\n  level    -3\n  mutates  nothing\n",
    ]);
    let log = bench.trained("run", &[]).text("log.txt");
    assert!(log.contains("Steps: 4 of 4 steps"), "{log}");
}

/// A hook that logs by the `tracing` crate.
const TRACING: &str = r#"
use hookrack_plugin_api::prelude::*;

/// Speaks by tracing.
#[derive(Deserialize)]
struct Speaks {}

#[hook]
impl Hook for Speaks {
    fn after_train(&mut self, t: &mut Trainer) -> Result<()> {
        tracing::warn!(iter = t.iter(), "said by tracing");
        tracing::debug!("nobody listens to this");
        Ok(())
    }
}

export_plugin! { hooks: [Speaks] }
"#;

#[test]
fn events_of_the_tracing_crate_are_in_the_hosts_log_when_the_plugin_asks_for_it() {
    let bench = Bench::new(&hook("Speaks", ""));
    let dependencies = "hookrack-plugin-api = { path = '{api}', features = [\"tracing\"] }\ntracing = { version = \"0.1\", default-features = false, features = [\"std\"] }";
    author(&bench, "speaks", dependencies, TRACING);
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0).says(&["Speaks: said by tracing iter=4"]);
    let log = run.text("log.txt");
    assert!(log.contains("WARN plugin: Speaks: said by tracing iter=4"), "{log}");
    assert!(!log.contains("nobody listens"), "{log}");
}

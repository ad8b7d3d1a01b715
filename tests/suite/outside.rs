//! Plugins that are made, compiled and dropped in outside of this workspace, while the program stays the same file.

use crate::patience::output;
use crate::workbench::{Bench, program, run_in};
use crate::workshop::repository;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn sha256(path: &Path) -> Vec<u8> {
    Sha256::digest(fs::read(path).unwrap()).to_vec()
}

/// Builds a crate with the versions that the workspace has already; gives the folder with its library. The crates
/// that all of these share are compiled once.
fn cargo_build(dir: &Path) -> PathBuf {
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline"]).current_dir(dir).env("CARGO_TARGET_DIR", &target);
    let built = output(&mut cargo).unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug")
}

#[test]
fn a_new_rust_plugin_runs_in_the_same_program_by_a_config_entry_alone() {
    let bench = Bench::new("");
    let before = sha256(program());
    bench.trained("without", &[]);
    bench
        .run(["new-plugin", "loss-logger"])
        .expect(0)
        .prints(&["wrote loss-logger/src/lib.rs", "README.md"]);
    let built = cargo_build(&bench.path("loss-logger")).join("libloss_logger.so");
    fs::copy(built, bench.path("plugins/libloss_logger.so")).unwrap();
    let config = bench.read("config.toml");
    bench.write(
        "config.toml",
        &(config + "[[custom_hooks]]\ntype = \"LossLoggerHook\"\ninterval = 3\n"),
    );
    let run = bench.trained("with", &[]);
    let log = run.text("log.txt");
    assert!(log.contains("iteration 3: loss "), "{log}");
    assert!(!log.contains("iteration 2: loss ") && !log.contains("iteration 4: loss "), "{log}");
    let plugins = run.record()["plugins"].clone();
    assert_eq!(
        (&plugins[0]["name"], &plugins[0]["version"]),
        (&"loss-logger".into(), &"0.1.0".into())
    );
    assert_eq!(sha256(program()), before, "the program is another file now");
}

#[test]
fn a_new_c_plugin_runs_in_the_same_program_by_a_config_entry_alone() {
    let bench = Bench::new("[[custom_hooks]]\ntype = \"GradWatchHook\"\ninterval = 4\n");
    let before = sha256(program());
    bench.run(["new-plugin", "grad-watch", "--lang", "c", "--dir", "made"]).expect(0);
    let mut command = Command::new("make");
    let made = output(command.arg("--silent").current_dir(bench.path("made"))).unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::copy(bench.path("made/libgrad_watch.so"), bench.path("plugins/libgrad_watch.so")).unwrap();
    let log = bench.trained("run", &[]).text("log.txt");
    assert!(log.contains("iteration 4: loss ") && !log.contains("iteration 3: loss "), "{log}");
    assert_eq!(sha256(program()), before, "the program is another file now");
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
    let bench = Bench::new("[[custom_hooks]]\ntype = \"Speaks\"\n");
    let dependencies = "hookrack-plugin-api = { path = '{api}', features = [\"tracing\"] }\ntracing = { version = \"0.1\", default-features = false, features = [\"std\"] }";
    author(&bench, "speaks", dependencies, TRACING);
    let (ran, run) = bench.train("run", &[]);
    ran.expect(0).says(&["Speaks: said by tracing iter=4"]);
    let log = run.text("log.txt");
    assert!(log.contains("WARN plugin: Speaks: said by tracing iter=4"), "{log}");
    assert!(!log.contains("nobody listens"), "{log}");
}

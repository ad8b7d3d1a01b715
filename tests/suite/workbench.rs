//! A folder with a tiny config and the plugins at hand, in which the program is run and its run directories are read.

use crate::patience::output;
pub(crate) use crate::run_folder::{Ran, RunFolder, tensors, wide_tensors};
use serde_json::Value as Json;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Two iterations an epoch in every phase, and next to no arithmetic.
pub(crate) const TINY: &str = r#"
[run]
name = "run"
[plugins]
dirs = ["plugins"]
[model]
type = "MLP"
hidden = [8]
[data.train]
type = "Synthetic"
samples = 8
shape = [4]
classes = 3
[data.val]
type = "Synthetic"
samples = 8
shape = [4]
classes = 3
seed = 7
[data.test]
type = "Synthetic"
samples = 8
shape = [4]
classes = 3
seed = 7
[data.pred]
type = "Synthetic"
samples = 8
shape = [4]
classes = 3
seed = 7
[loss]
type = "CrossEntropy"
[optimizer]
type = "AdamW"
[train]
max_epochs = 2
batch_size = 4
threads = 1
seed = 1
[[metrics]]
type = "Accuracy"
"#;

/// What a shell waits with until the run has a checkpoint in its place; for a minute at most.
pub(crate) const SAVED: &str =
    "for i in $(seq 6000); do test -e run/checkpoints/latest && break; sleep 0.01; done";

/// The plugins in Rust that ship with the host.
const BUNDLED: [&str; 7] = ["ema", "profiler", "prometheus", "roles", "swa", "topk", "webhook"];

/// The folder that cargo built this test program's dependencies into.
fn deps() -> &'static Path {
    static DEPS: OnceLock<PathBuf> = OnceLock::new();
    DEPS.get_or_init(|| std::env::current_exe().unwrap().parent().unwrap().to_owned())
}

/// A library that cargo built for this test program: `libema.so`.
pub(crate) fn library(file: &str) -> PathBuf {
    let path = deps().join(file);
    assert!(path.is_file(), "cargo built no {}", path.display());
    path
}

/// The program, built like this test program.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("hookrack"))
}

/// A program of the workspace. Cargo builds it only for tests of its own package, so it is asked here.
pub(crate) fn built(name: &str) -> PathBuf {
    let folder = deps().parent().unwrap();
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    let mut cargo = Command::new(env!("CARGO"));
    // The whole workspace has a say in its crates' features, as under `cargo test`: nothing is compiled twice.
    cargo.args(["build", "--quiet", "--workspace", "--bin", name, "--profile", profile]);
    cargo.arg("--target-dir").arg(folder.parent().unwrap());
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let built = output(&mut cargo).unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder.join(name)
}

/// The plugin in C, compiled once.
fn grad_norm_c() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = crate::workshop::repository();
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libgrad_norm_c.so");
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I"]);
        cc.arg(root.join("plugin-api/include")).arg("-o").arg(&out);
        cc.arg(root.join("plugins/grad_norm_c/grad_norm.c")).arg("-lm");
        assert!(output(&mut cc).unwrap().status.success());
        out
    })
}

/// A folder with a config and plugins.
pub(crate) struct Bench {
    dir: TempDir,
}

impl Bench {
    /// A folder with the [`TINY`] config and `more` after it, as `config.toml`, and every plugin in `plugins/`.
    pub(crate) fn new(more: &str) -> Self {
        let bench = Self::bare();
        bench.configure(more);
        bench
    }

    /// A folder with a config, as `config.toml`, and every plugin in `plugins/`.
    pub(crate) fn of(config: &str) -> Self {
        let bench = Self::bare();
        bench.write("config.toml", config);
        bench
    }

    /// As [`Self::new`], without the loss of the config.
    pub(crate) fn without_loss(more: &str) -> Self {
        let bench = Self::new(more);
        bench.replace("[loss]\ntype = \"CrossEntropy\"\n", "");
        bench
    }

    /// A folder with plugins and nothing else.
    pub(crate) fn bare() -> Self {
        // Beside what cargo built, so that libraries can be linked into it.
        let bench = Self { dir: TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        fs::create_dir(bench.path("plugins")).unwrap();
        for name in ["libfaulty.so", "libgallery.so", "librecorder.so"] {
            fs::hard_link(library(name), bench.path("plugins").join(name)).unwrap();
        }
        bench.add_bundled("plugins");
        bench
    }

    /// Puts the plugins that ship with the host into a folder.
    pub(crate) fn add_bundled(&self, folder: &str) {
        for name in BUNDLED {
            let file = format!("lib{name}.so");
            fs::hard_link(library(&file), self.path(folder).join(file)).unwrap();
        }
        fs::hard_link(grad_norm_c(), self.path(folder).join("libgrad_norm_c.so")).unwrap();
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file of the folder.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Reads a file of the folder; one that is not there is empty.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Reads a file of the folder and removes it.
    pub(crate) fn take(&self, name: &str) -> String {
        let text = self.read(name);
        let _ = fs::remove_file(self.path(name));
        text
    }

    /// Writes the [`TINY`] config with `more` after it.
    pub(crate) fn configure(&self, more: &str) {
        self.write("config.toml", &format!("{TINY}{more}"));
    }

    /// Adds to the config.
    pub(crate) fn add(&self, more: &str) {
        self.write("config.toml", &(self.read("config.toml") + more));
    }

    /// Changes the config.
    pub(crate) fn replace(&self, from: &str, to: &str) {
        self.write("config.toml", &self.read("config.toml").replace(from, to));
    }

    /// A JSON file of the folder.
    pub(crate) fn json(&self, name: &str) -> Json {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// The points that a recorder has written to a file of the folder, in their order.
    pub(crate) fn points(&self, name: &str) -> Vec<String> {
        let calls = self.read(name);
        calls.lines().map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
    }

    /// The run directory of this name.
    pub(crate) fn folder(&self, name: &str) -> RunFolder {
        RunFolder { path: self.path(name) }
    }

    /// The program in the folder, with these arguments; a setting needs no `-s`.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        hookrack(self.dir.path(), args)
    }

    /// Runs the program in the folder.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        run_in(self.dir.path(), args)
    }

    /// `hookrack check config.toml …`
    pub(crate) fn check(&self, more: &[&str]) -> Ran {
        self.run([&["check", "config.toml"], more].concat())
    }

    /// `hookrack train config.toml --run-dir NAME …`; the run directory is read back.
    pub(crate) fn train(&self, name: &str, more: &[&str]) -> (Ran, RunFolder) {
        let args = ["train", "config.toml", "--run-dir", name];
        let ran = self.run(args.iter().chain(more));
        (ran, self.folder(name))
    }

    /// As [`Self::train`], and it must succeed.
    pub(crate) fn trained(&self, name: &str, more: &[&str]) -> RunFolder {
        let (ran, folder) = self.train(name, more);
        ran.expect(0);
        folder
    }
}

/// The cache folder of all tests: each library is probed once.
pub(crate) fn cache() -> &'static Path {
    Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"))
}

/// An entry of a hook: its type, and its settings as lines.
pub(crate) fn hook(kind: &str, settings: &str) -> String {
    format!("[[custom_hooks]]\ntype = \"{kind}\"\n{settings}\n")
}

/// An entry of a hook `name` of type `Faulty`, which does something at a point and records its calls in the file `own`.
pub(crate) fn faulty(name: &str, at: &str, settings: &str) -> String {
    hook("Faulty", &format!("name = '{name}'\nfile = 'own'\nat = '{at}'\n{settings}"))
}

/// The program in a folder. An argument such as `train.seed=1` is a setting, which needs no `-s` before it.
fn hookrack<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program());
    let is_setting = |arg: &str| arg.contains('=') && !arg.starts_with('-');
    let mut is_marked = false;
    for arg in args {
        let arg = arg.as_ref();
        if !is_marked && arg.to_str().is_some_and(is_setting) {
            command.arg("-s");
        }
        command.arg(arg);
        is_marked = arg == "-s";
    }
    // Cargo's path for its own tests must not be what libtorch is found by.
    command.current_dir(folder).env_remove("LD_LIBRARY_PATH");
    // Nor must the user's own plugins, and the tests' plugins must not enter the user's index.
    command.env_remove("HOOKRACK_PLUGINS").env("XDG_CACHE_HOME", cache());
    command
}

/// Runs the program in a folder.
pub(crate) fn run_in<S: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = S>) -> Ran {
    Ran::of(&mut hookrack(folder, args))
}

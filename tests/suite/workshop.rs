//! Builds the plugins that the tests load: C with the C compiler, Rust with cargo in a workspace of its own.
//!
//! The Rust ones need more than one plugin-api: the present one, a next minor version that has gained a point and an
//! extension, and a next major version. The latter two are copies with a few lines changed, made here.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot build its plugins has failed"
)]

use crate::patience::output;
use hookrack_plugin_api::Point;
use hookrack_plugin_api::abi::{ABI_MAJOR, ABI_MINOR};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The top of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Insists that a page is what it is made from; `UPDATE_EXPECT=1` writes it.
#[track_caller]
pub(crate) fn assert_page(page: &str, made: &str) {
    let path = repository().join(page);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
    assert!(kept == made, "{page} is not fresh, run this test with UPDATE_EXPECT=1: {differs:?}");
}

/// The first piece of Python in a page.
pub(crate) fn python_of(page: &str) -> String {
    let text = fs::read_to_string(repository().join(page)).unwrap();
    let (_, rest) = text.split_once("```python\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The folder with one folder for each misbehavior.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/libraries")
}

/// Compiles a fixture's `plugin.c`, or `plugin.cpp`, to `out`.
pub(crate) fn compile_c(fixture: &str, out: &Path, flags: &[&str]) {
    let source = fixtures().join(fixture).join("plugin.c");
    let (variable, compiler, standard, source) = if source.exists() {
        ("CC", "cc", "-std=gnu11", source)
    } else {
        ("CXX", "c++", "-std=gnu++17", source.with_extension("cpp"))
    };
    let mut command = Command::new(std::env::var_os(variable).unwrap_or_else(|| compiler.into()));
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-fPIC", "-I"]);
    command.arg(repository().join("plugin-api/include")).arg("-o").arg(out);
    command.arg(source).args(flags);
    run(&mut command);
}

/// The Rust fixtures, built once for all tests.
pub(crate) fn rust() -> &'static Workshop {
    static BUILT: OnceLock<Workshop> = OnceLock::new();
    BUILT.get_or_init(Workshop::build)
}

/// The versions of plugin-api that a plugin and a host are built against. A plugin also is against `careless`: a
/// bug fix of the present version, by its number, but with a function more in the middle of a table.
pub(crate) const VERSIONS: [&str; 3] = ["present", "next_minor", "next_major"];

/// Where the Rust fixtures were built.
pub(crate) struct Workshop {
    root: PathBuf,
}

impl Workshop {
    /// The library of a fixture: `evolving_present`, `panic_in_root`, …
    pub(crate) fn library(&self, name: &str) -> PathBuf {
        let profile = match name {
            "panic_abort" => "aborting",
            "evolving_fast" => "fast",
            _ => "debug",
        };
        self.root.join(format!("target/{profile}/lib{name}.so"))
    }

    /// The present fixture with optimizations, link-time optimization and an allocator of its own; built when it is first asked for.
    pub(crate) fn fast(&self) -> PathBuf {
        static BUILT: OnceLock<()> = OnceLock::new();
        BUILT.get_or_init(|| self.cargo(&["--profile", "fast", "--package", "evolving_fast"]));
        self.library("evolving_fast")
    }

    /// The small host that was built against a version of plugin-api.
    pub(crate) fn host(&self, version: &str) -> Command {
        Command::new(self.root.join(format!("target/debug/host_{version}")))
    }

    fn build() -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("workshop");
        let workshop = Self { root };
        workshop.write_apis();
        workshop.write_members();
        workshop.cargo(&["--workspace", "--exclude", "panic_abort", "--exclude", "evolving_fast"]);
        workshop.cargo(&["--profile", "aborting", "--package", "panic_abort"]);
        workshop
    }

    fn api(&self, version: &str) -> PathBuf {
        match version {
            "present" => repository().join("plugin-api"),
            version => self.root.join(version).join("plugin-api"),
        }
    }

    /// Copies plugin-api and changes it.
    fn write_apis(&self) {
        let manifest = read(&repository().join("Cargo.toml"));
        let macros = repository().join("plugin-api/macros");
        let manifest = replace(
            &manifest,
            "\"plugin-api/macros\", version",
            &format!("'{}', version", macros.display()),
        );
        let (_, shared) = manifest.split_once("[workspace.package]").unwrap();
        let manifest = format!(
            "[workspace]\nresolver = \"3\"\nmembers = [\"plugin-api\"]\n[workspace.package]{shared}"
        );
        for (version, number) in numbers() {
            let (from, to) = (repository().join("plugin-api"), self.api(version));
            remove_what_is_gone(&from, &to);
            write(&self.root.join(version).join("Cargo.toml"), &manifest);
            for file in ["Cargo.toml"].iter().map(PathBuf::from).chain(sources(&from)) {
                let text = read(&from.join(&file));
                let text = match version {
                    "next_minor" => gain(&file, text),
                    "careless" => break_layout(&file, text),
                    _ => text,
                };
                write(&to.join(&file), &renumber(&file, text, number));
            }
        }
    }

    fn write_members(&self) {
        let manifest = read(&repository().join("Cargo.toml"));
        let section = manifest.split("[workspace.dependencies]").nth(1).unwrap();
        let versions = section.split("\n[").next().unwrap().lines();
        let versions: Vec<_> = versions.filter(|line| !line.starts_with("hookrack")).collect();
        let mut members = vec!["panic_abort".to_owned(), "panic_in_root".to_owned()];
        for name in ["panic_abort", "panic_in_root"] {
            self.write_member(name, &self.api("present"), "", &library(name));
        }
        let careless = "evolving_careless";
        self.write_member(careless, &self.api("careless"), "", &library("evolving"));
        members.push(careless.to_owned());
        let fast = "evolving_fast";
        self.write_member(fast, &self.api("present"), "\"own_allocator\"", &library("evolving"));
        members.push(fast.to_owned());
        for version in VERSIONS {
            let newer = if version == "next_minor" { "\"newer\"" } else { "" };
            let (plugin, host) = (format!("evolving_{version}"), format!("host_{version}"));
            self.write_member(&plugin, &self.api(version), newer, &library("evolving"));
            self.write_member(&host, &self.api(version), newer, &program(&host));
            members.extend([plugin, host]);
        }
        let root = format!(
            "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n[workspace.dependencies]\n{}\n\
             [profile.dev]\ndebug = false\nincremental = false\n\
             [profile.aborting]\ninherits = \"dev\"\npanic = \"abort\"\n\
             [profile.fast]\ninherits = \"release\"\nopt-level = 3\nlto = \"fat\"\ncodegen-units = 1\n",
            versions.join("\n")
        );
        write(&self.root.join("members/Cargo.toml"), &root);
        write(&self.root.join("members/Cargo.lock"), &read(&repository().join("Cargo.lock")));
    }

    fn write_member(&self, name: &str, api: &Path, default: &str, rest: &str) {
        let text = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
             [features]\ndefault = [{default}]\nnewer = []\nown_allocator = []\n{rest}\n\
             [dependencies.hookrack-plugin-api]\npath = '{}'\n",
            api.display()
        );
        write(&self.root.join("members").join(name).join("Cargo.toml"), &text);
    }

    /// Builds without the network where everything is in cargo's cache, as it is after this repository was built.
    fn cargo(&self, arguments: &[&str]) {
        let cargo = |offline: &[&str]| {
            let mut command = Command::new(env!("CARGO"));
            command.arg("build").args(offline).args(arguments);
            command
                .env_remove("CARGO_ENCODED_RUSTFLAGS")
                .env("CARGO_TARGET_DIR", self.root.join("target"));
            command.current_dir(self.root.join("members"));
            command
        };
        if !output(&mut cargo(&["--quiet", "--offline"])).unwrap().status.success() {
            run(&mut cargo(&[]));
        }
    }
}

/// The part of a manifest that makes a library of a fixture.
fn library(fixture: &str) -> String {
    let source = fixtures().join(fixture).join("src/lib.rs");
    format!("[lib]\npath = '{}'\ncrate-type = [\"cdylib\"]", source.display())
}

/// The part of a manifest that makes the small host, with what the loader needs.
fn program(name: &str) -> String {
    let source = fixtures().join("evolving/host.rs");
    let own = ["abi_stable", "libloading", "rustix", "serde_json", "sha2", "thiserror", "tracing"];
    format!(
        "[[bin]]\nname = \"{name}\"\npath = '{}'\n[dependencies]\n{}.workspace = true\n\
         serde = {{ workspace = true, features = [\"derive\"] }}\n",
        source.display(),
        own.join(".workspace = true\n"),
    )
}

/// Gives the copy a point, an extension and a field of the envelope that the present plugin-api does not have.
fn gain(file: &Path, text: String) -> String {
    match file.to_str().unwrap() {
        "src/point.rs" => {
            let last = Point::ALL[Point::COUNT - 1];
            let row = format!("{} {last:?} {last}:", last.code());
            let last = text.lines().find(|line| line.trim_start().starts_with(&row)).unwrap();
            let more = format!(
                "{last}\n/// Several became one.\n{} AfterMerge after_merge: Iter,",
                Point::COUNT
            );
            replace(&text, last, &more)
        }
        "src/abi/artifacts.rs" => {
            text + "\n/// The id of an extension that came later.\npub const MERGE: &str = \"hookrack.merge/1\";\n"
        }
        "src/abi/mod.rs" => {
            replace(&text, "artifacts::{ARTIFACTS,", "artifacts::{ARTIFACTS, MERGE,")
        }
        // The envelope may grow too; an older side then has less in it than a newer one looks for.
        "src/abi/plugin.rs" => {
            let field = "ROption<&'static TableLayout>,\n";
            let text =
                replace(&text, field, &format!("{field}/// Came later.\npub remark: HrStr,\n"));
            replace(&text, "ROption::RNone }", "ROption::RNone, remark: HrStr::EMPTY }")
        }
        "src/trainer/mod.rs" => {
            text + "\nimpl Trainer {\n/// Whether the host has the extension.\npub fn has_merge(&self) -> bool {\n\
                    !self.host.extension(crate::abi::MERGE).is_null()\n}\n}\n"
        }
        _ => text,
    }
}

/// Changes the layout of the hook table, and says nothing about it.
fn break_layout(file: &Path, text: String) -> String {
    let declared = "    pub destroy: unsafe extern \"C\" fn(instance: *mut c_void),\n";
    match file.to_str().unwrap() {
        "src/abi/hook.rs" => {
            let more = declared.replace("destroy", "pause");
            replace(&text, declared, &format!("{declared}/// Came from nowhere.\n{more}"))
        }
        // Of the two tables made there, the hook's comes first.
        "src/abi/thunks.rs" => text.replacen(
            "destroy: destroy::<T>,",
            "destroy: destroy::<T>, pause: destroy::<T>,",
            1,
        ),
        _ => text,
    }
}

/// The copies, and their versions: major, minor and patch.
fn numbers() -> [(&'static str, (u16, u16, u16)); 3] {
    [
        ("next_minor", (ABI_MAJOR, ABI_MINOR + 1, 0)),
        ("next_major", (ABI_MAJOR + 1, 0, 0)),
        ("careless", (ABI_MAJOR, ABI_MINOR, 99)),
    ]
}

/// Gives the copy its version.
fn renumber(file: &Path, text: String, (major, minor, patch): (u16, u16, u16)) -> String {
    match file.to_str().unwrap() {
        "Cargo.toml" => {
            let line = text.lines().find(|line| line.starts_with("version = ")).unwrap();
            replace(&text, line, &format!("version = \"{major}.{minor}.{patch}\""))
        }
        "src/abi/header.rs" => {
            let set = |text: &str, name: &str, from: u16, to: u16| {
                replace(text, &format!("{name}: u16 = {from};"), &format!("{name}: u16 = {to};"))
            };
            set(&set(&text, "ABI_MAJOR", ABI_MAJOR, major), "ABI_MINOR", ABI_MINOR, minor)
        }
        _ => text,
    }
}

/// Replaces what must be there: a silent miss would leave the copy as it was.
fn replace(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is no longer there to be replaced");
    text.replace(from, to)
}

/// The files of `src`, relative to `root`.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    files
}

/// Removes files of an earlier copy that the original does not have any more.
fn remove_what_is_gone(from: &Path, to: &Path) {
    if to.join("src").is_dir() {
        for file in sources(to).into_iter().filter(|file| !from.join(file).exists()) {
            fs::remove_file(to.join(file)).unwrap();
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes a file only if it differs: cargo rebuilds what is newer.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn run(command: &mut Command) {
    let output = output(command).unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

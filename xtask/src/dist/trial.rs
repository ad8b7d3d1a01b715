//! Tests a packed release: creates, builds and runs a hook in each language, in an empty folder and an empty environment.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use super::DistError;
use crate::{
    error::TaskError,
    files::{self, During as _},
    process, report,
};

/// A language of plugins, the command that builds one, and the path of the library.
struct Language {
    name: &'static str,
    build: &'static [&'static str],
    library: &'static str,
}

const LANGUAGES: [Language; 3] = [
    Language {
        name: "rust",
        build: &["cargo", "build", "--release", "--quiet"],
        library: "target/release/libtrial.so",
    },
    Language { name: "c", build: &["make", "--silent"], library: "libtrial.so" },
    Language { name: "cpp", build: &["make", "--silent"], library: "libtrial.so" },
];

const CONFIG: &str = r#"[plugins]
dirs = ["."]
[model]
type = "MLP"
hidden = [8]
[data.train]
type = "Synthetic"
samples = 80
shape = [4]
classes = 3
[loss]
type = "CrossEntropy"
[optimizer]
type = "SGD"
lr = 0.1
[train]
max_iters = 20
batch_size = 4
[[custom_hooks]]
type = "TrialHook"
"#;

/// What the template's hook logs in this run.
const SAYS: &str = "TrialHook: iteration 20: loss ";

/// Unpacks the archive into a temporary folder, and creates, builds and runs a hook in each language. The environment has only PATH and
/// the variables by which cargo finds its crates. Reports the time of each step.
pub(super) fn trial(archive: &Path) -> Result<(), TaskError> {
    let folder = env::temp_dir().join(format!("hookrack-trial-{}", std::process::id()));
    files::fresh_folder(&folder)?;
    report::step(&format!("trying {} in {}", archive.display(), folder.display()));
    let tried = tried(archive, &folder);
    files::remove(&folder)?;
    tried
}

fn tried(archive: &Path, folder: &Path) -> Result<(), TaskError> {
    let mut unpack = process::command("tar");
    unpack.args(["--extract", "--gzip", "--strip-components=1"]).arg("--file").arg(archive);
    process::run(unpack.arg("--directory").arg(folder))?;
    let program = folder.join("bin/hookrack");
    for language in &LANGUAGES {
        let times = from_idea_to_run(&program, &folder.join("work"), language)?;
        let [written, built, ran] = times.map(|time| format!("{:.1} s", time.as_secs_f64()));
        let name = language.name;
        report::note(&format!(
            "{name}: a hook written in {written}, built in {built}, run in {ran}"
        ));
    }
    Ok(())
}

fn from_idea_to_run(
    program: &Path,
    work: &Path,
    language: &Language,
) -> Result<[Duration; 3], TaskError> {
    files::fresh_folder(work)?;
    let plugin = work.join("trial");
    let written =
        timed(bare(program, work).args(["new-plugin", "trial", "--lang", language.name]))?;
    let built = timed(bare(Path::new(language.build[0]), &plugin).args(&language.build[1..]))?;
    let library = plugin.join(language.library);
    fs::copy(&library, work.join("libtrial.so")).during("copy", &library)?;
    let config = work.join("config.toml");
    fs::write(&config, CONFIG).during("write", &config)?;
    let train = ["train", "config.toml", "--run-dir", "run"];
    let ran = timed(bare(program, work).args(train))?;
    let log = work.join("run/log.txt");
    let said = fs::read_to_string(&log).during("read", &log)?;
    if said.contains(SAYS) {
        return Ok([written, built, ran]);
    }
    Err(DistError::Trial { language: language.name, log: said }.into())
}

/// A command in a folder, with a minimal environment.
fn bare(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(folder);
    for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"] {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

fn timed(command: &mut Command) -> Result<Duration, TaskError> {
    let start = Instant::now();
    process::output(command)?;
    Ok(start.elapsed())
}

/// The archive to try.
pub(super) fn absolute(archive: &Path) -> Result<PathBuf, TaskError> {
    Ok(std::path::absolute(archive).during("resolve", archive)?)
}

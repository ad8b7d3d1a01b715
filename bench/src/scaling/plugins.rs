//! The time to start with many plugins, all of them verified and used.

use super::curve::Curve;
use crate::error::BenchError;
use crate::measured_hooks::{beside_this, workspace};
use crate::report::{About, Line, Section, Target};
use crate::rounds::median;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

const PLUGINS: [usize; 6] = [1, 3, 10, 30, 100, 300];

/// The plugins of a large project, and the milliseconds that they may add to a start.
const MANY: usize = 50;
const MOST_ADDED: f64 = 150.0;

/// The start of a config with many plugins, all of them locked, known from the index and used, compared with the start of one without any.
pub(crate) fn verified_start(rounds: u32) -> Result<Section, BenchError> {
    let folders = [verified(0)?, verified(MANY)?];
    let mut times: [Vec<f64>; 2] = Default::default();
    for _ in 0..rounds {
        for ((folder, config), times) in folders.iter().zip(&mut times) {
            times.push(plan(folder.path(), config)?);
        }
    }
    let [none, many] = times.map(|times| median(&times));
    let added = Line::new("added by the plugins", many - none);
    Ok(Section {
        title: format!("hookrack plan with verified plugins, policy require (medians of {rounds})"),
        unit: "ms",
        baseline: "",
        lines: vec![
            Line::new("no plugin", none),
            Line::new(format!("{MANY} plugins"), many),
            added.must(About::Value, Target::AtMost(MOST_ADDED)),
        ],
    })
}

/// A folder with plugins that are locked and known from the index, and a config that requires that.
fn verified(count: usize) -> Result<(TempDir, String), BenchError> {
    let folder = TempDir::new().map_err(BenchError::file("a temporary folder"))?;
    let config = install(folder.path(), count)?;
    plan(folder.path(), &config)?;
    run(folder.path(), &["lock", "config.toml"])?;
    Ok((folder, config.replace("dirs = ", "policy = 'require'\ndirs = ")))
}

/// Milliseconds of `hookrack plan` with up to `most` plugins: known from the index, and seen for the first time.
pub(super) fn measure(most: usize) -> Result<Curve, BenchError> {
    let (mut known, mut new) = (Vec::new(), Vec::new());
    for count in PLUGINS.into_iter().filter(|count| *count <= most) {
        let folder = TempDir::new().map_err(BenchError::file("a temporary folder"))?;
        let config = install(folder.path(), count)?;
        let first = plan(folder.path(), &config)?;
        let later = (0..5).map(|_| plan(folder.path(), &config)).collect::<Result<Vec<_>, _>>()?;
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let plugins = count as f64;
        new.push((plugins, first));
        known.push((plugins, median(&later)));
    }
    Ok(Curve {
        file: "plugins",
        title: "Start with many plugins: hookrack plan",
        what: "plugins",
        unit: "ms",
        series: vec![("known".to_owned(), known), ("seen for the first time".to_owned(), new)],
        note: "Each plugin is a separate library, which is checked, loaded and used by the config. The first time includes a probe in a separate process.".to_owned(),
    })
}

/// So many libraries with a hook of another name each, and a config that uses all of them.
fn install(folder: &Path, count: usize) -> Result<String, BenchError> {
    let plugins = folder.join("plugins");
    fs::create_dir_all(&plugins).map_err(BenchError::file(&plugins))?;
    let original = Path::new(env!("HOOKRACK_BENCH_NOOP_C"));
    let library = fs::read(original).map_err(BenchError::file(original))?;
    let base = workspace().join("bench/mlp.toml");
    let mut config = format!("_base_ = ['{}']\n[plugins]\ndirs = ['plugins']\n", base.display());
    for number in 0..count {
        let name = format!("N{number:04}");
        let path = plugins.join(format!("lib{name}.so"));
        fs::write(&path, renamed(&library, name.as_bytes())).map_err(BenchError::file(&path))?;
        let _ = writeln!(config, "[[custom_hooks]]\ntype = '{name}'");
    }
    Ok(config)
}

/// The library with another name in place of `NoopC`, which is as long.
fn renamed(library: &[u8], name: &[u8]) -> Vec<u8> {
    let mut bytes = library.to_vec();
    let places = library.windows(5).enumerate().filter(|(_, word)| *word == b"NoopC");
    for (place, _) in places {
        bytes[place..place + 5].copy_from_slice(name);
    }
    bytes
}

fn plan(folder: &Path, config: &str) -> Result<f64, BenchError> {
    let path = folder.join("config.toml");
    fs::write(&path, config).map_err(BenchError::file(&path))?;
    run(folder, &["plan", "config.toml"])
}

/// The milliseconds of a command in a folder, with a cache of its own.
fn run(folder: &Path, args: &[&str]) -> Result<f64, BenchError> {
    let program = beside_this("hookrack")?;
    let mut command = Command::new(&program);
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", folder.join("cache"));
    let began = Instant::now();
    let output = command.output().map_err(BenchError::file(program))?;
    let time = began.elapsed().as_secs_f64() * 1e3;
    if output.status.success() {
        return Ok(time);
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(BenchError::Command { command: args.join(" "), why })
}

//! `cargo xtask fuzz`: inputs for every reader of external files, guided by coverage if cargo-fuzz is installed.

mod outcome;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use super::{Profile, build};
use crate::{
    cli::Fuzz, compiler::on_path, error::TaskError, files::During as _, libtorch, process, report,
    testing, workspace::Workspace,
};
use outcome::{Outcome, row, table};

/// Findings of one reader after which it is not run any longer: what follows is mostly the same bug.
const MOST_FINDINGS: usize = 5;

/// libFuzzer's limits: the memory of the process, some hundred MB of which are libtorch's, and the seconds for one input.
const LIMITS: [&str; 2] = ["-rss_limit_mb=2048", "-timeout=20"];

/// How a finding begins that libFuzzer keeps; it also keeps inputs that are only slow.
const FINDINGS: [&str; 4] = ["crash-", "leak-", "oom-", "timeout-"];

pub(crate) fn fuzz(workspace: &Workspace, args: &Fuzz) -> Result<(), TaskError> {
    let all = readers(workspace)?;
    let chosen: Vec<_> = match &args.reader {
        Some(name) if all.contains(name) => vec![name.clone()],
        Some(name) => {
            return Err(TaskError::NoReader { name: name.clone(), all: all.join(", ") });
        }
        None => all,
    };
    let seed = args.seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        // libFuzzer takes 32 bits.
        now.map_or(1, |now| now.as_secs() & 0x7fff_ffff)
    });
    let seconds = (args.minutes * 60 / chosen.len().max(1) as u64).max(1);
    if on_path("cargo-fuzz").is_none() {
        report::warning(
            "cargo-fuzz is not installed: inputs are damaged at random, without knowledge of what they reach; \
             `cargo install cargo-fuzz --locked` makes it coverage-guided",
        );
        return unguided(workspace, args, seed, seconds);
    }
    guided(workspace, &chosen, seed, Duration::from_secs(seconds))
}

/// The readers, by the names of their targets; a test compares them with what `hookrack-readers` has.
fn readers(workspace: &Workspace) -> Result<Vec<String>, TaskError> {
    let folder = workspace.root().join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).during("read", &folder)?;
    let stem = |path: PathBuf| Some(path.file_stem()?.to_str()?.to_owned());
    let mut names: Vec<_> = entries.flatten().filter_map(|entry| stem(entry.path())).collect();
    names.sort();
    Ok(names)
}

/// The tests of the suite, for longer and with other inputs.
fn unguided(workspace: &Workspace, args: &Fuzz, seed: u64, seconds: u64) -> Result<(), TaskError> {
    build(workspace, Profile::Dev)?;
    report::step(&format!("{} minutes of damaged inputs, seed {seed}", args.minutes));
    let mut command = testing::suite(workspace, "fuzz::");
    command.arg("--test-threads=1");
    command.env("HOOKRACK_FUZZ_SEED", seed.to_string());
    command.env("HOOKRACK_FUZZ_SECONDS", seconds.to_string());
    if let Some(name) = &args.reader {
        command.env("HOOKRACK_FUZZ_READER", name);
    }
    Ok(process::run(&mut command)?)
}

fn guided(
    workspace: &Workspace,
    chosen: &[String],
    seed: u64,
    time: Duration,
) -> Result<(), TaskError> {
    libtorch::ensure(workspace, false)?;
    report::step("building the targets of cargo-fuzz");
    let target_dir = workspace.root().join("target/fuzz");
    process::run(&mut cargo_fuzz(workspace, &target_dir, chosen))?;
    report::step(&format!(
        "{} readers, {} s each, seed {seed}; logs in target/fuzz-logs",
        chosen.len(),
        time.as_secs()
    ));
    let mut outcomes = Vec::new();
    for name in chosen {
        let outcome = one(workspace, &target_dir, name, seed, time)?;
        report::note(&row(&outcome));
        outcomes.push(outcome);
    }
    for line in table(&outcomes) {
        report::passed_on(&line);
    }
    let findings: Vec<_> = outcomes.into_iter().flat_map(|it| it.findings).collect();
    if findings.is_empty() {
        return Ok(());
    }
    Err(TaskError::Findings { count: findings.len(), files: findings.join("\n  ") })
}

/// `cargo fuzz build`, without a sanitizer: that would need another compiler, and libtorch's bindings compiled once more, for code that is safe Rust.
fn cargo_fuzz(workspace: &Workspace, target_dir: &Path, chosen: &[String]) -> Command {
    let mut command = process::cargo();
    command.current_dir(workspace.root().join("fuzz")).args(["fuzz", "build", "--sanitizer=none"]);
    command.arg("--target-dir").arg(target_dir);
    if let [only] = chosen {
        command.arg(only);
    }
    command
}

/// Runs one reader; after a finding, again for the time that is left.
fn one(
    workspace: &Workspace,
    target_dir: &Path,
    name: &str,
    seed: u64,
    time: Duration,
) -> Result<Outcome, TaskError> {
    let folder = |kind: &str| -> Result<PathBuf, TaskError> {
        let path = workspace.root().join("target").join(kind).join(name);
        fs::create_dir_all(&path).during("create", &path)?;
        Ok(path)
    };
    let (corpus, artifacts) = (folder("fuzz-corpus")?, folder("fuzz-artifacts")?);
    let logs = folder("fuzz-logs")?;
    let mut outcome = Outcome::new(name);
    let began = Instant::now();
    for round in 0..MOST_FINDINGS as u64 {
        let left = time.saturating_sub(began.elapsed());
        if left < Duration::from_secs(1) {
            break;
        }
        let log = logs.join(format!("{round}.log"));
        let mut command =
            process::command(target_dir.join(target_triple()).join("release").join(name));
        command.current_dir(workspace.root()).arg(&corpus).args(LIMITS);
        command.arg(format!("-artifact_prefix={}/", artifacts.display()));
        command.arg(format!("-max_total_time={}", left.as_secs()));
        command.arg(format!("-seed={}", (seed + round).max(1)));
        command.arg("-print_final_stats=1");
        command.env("OMP_NUM_THREADS", "1");
        command.stdout(File::create(&log).during("create", &log)?);
        command.stderr(File::options().append(true).open(&log).during("open", &log)?);
        let status = command.status().map_err(|why| process::not_started(&command, why))?;
        let text = fs::read(&log).during("read", &log)?;
        outcome.add(&String::from_utf8_lossy(&text));
        let found = keep(workspace, name, &artifacts)?;
        let is_new = !found.is_empty();
        for file in found {
            report::warning(&format!("{name}: {} ({})", file, outcome.said()));
            outcome.findings.push(file);
        }
        if status.success() {
            break;
        }
        if !is_new {
            // It ended otherwise, or at a finding that is known.
            report::warning(&format!("{name}: ended with {status}, see {}", log.display()));
            outcome.findings.push(log.display().to_string());
            break;
        }
    }
    outcome.took = began.elapsed();
    Ok(outcome)
}

/// Moves the findings of a reader to the fixtures, which every later run of the suite reads.
fn keep(workspace: &Workspace, name: &str, artifacts: &Path) -> Result<Vec<String>, TaskError> {
    let fixtures = Path::new("tests/fixtures/fuzz").join(name);
    let mut kept = Vec::new();
    for entry in fs::read_dir(artifacts).during("read", artifacts)?.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        if !FINDINGS.iter().any(|kind| file.starts_with(kind)) {
            continue;
        }
        let to = workspace.root().join(&fixtures);
        fs::create_dir_all(&to).during("create", &to)?;
        if !to.join(&file).exists() {
            kept.push(fixtures.join(&file).display().to_string());
        }
        fs::copy(entry.path(), to.join(&file)).during("copy", &entry.path())?;
        fs::remove_file(entry.path()).during("remove", &entry.path())?;
    }
    Ok(kept)
}

/// The machine that cargo-fuzz compiles for; always named, so that build scripts are not instrumented.
fn target_triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

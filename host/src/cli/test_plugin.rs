//! `hookrack test-plugin`: runs every conformance case with a library, each in its own process.

use super::exit::Failure;
use crate::conformance::{Case, CaseEnv, Given, GivenSetting, LOCK, Verdict, cases};
use crate::plugins::trust::Trust;
use crate::plugins::untrusted;
use clap::Args;
use hookrack_chart::escape;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// The prefix of a child's verdict.
const MARK: &str = "hookrack-verdict: ";
/// How often a child is polled.
const TICK: Duration = Duration::from_millis(5);

/// Test a plugin library: manifest, settings, points, complete runs, state, metrics, leaks
#[derive(Args)]
#[command(after_help = help!("\
Each case runs in a process of its own, so that a crash or a hang fails that case alone. --list prints
what each case requires; docs/test-plugin.md has the same table.

Examples:
  hookrack test-plugin plugins/libema.so
  hookrack test-plugin plugins/libema.so --case state --case metric.merge
  hookrack test-plugin target/release/libmine.so --junit report.xml
  hookrack test-plugin plugins/libcutmix.so --set CutMix.classes=3 --shape 1,8,8
  hookrack test-plugin plugins/libema.so --seed 7 --json"))]
pub(super) struct TestPluginArgs {
    /// The library
    #[arg(required_unless_present = "list")]
    library: Option<PathBuf>,

    /// Run only cases whose names start with this (repeatable)
    #[arg(long, value_name = "NAME")]
    case: Vec<String>,

    /// Seed of all random choices; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Set a setting of a hook or metric, such as CutMix.classes=3 (repeatable)
    #[arg(short, long, value_name = "TYPE.KEY=VALUE")]
    set: Vec<String>,

    /// Shape of a sample, such as 1,8,8
    #[arg(long, value_name = "SIZES", value_delimiter = ',', default_value = "4")]
    shape: Vec<i64>,

    /// Seconds that a case may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time_limit: u64,

    /// Print the cases and their requirements as a Markdown table
    #[arg(long)]
    list: bool,

    /// Print the results as JSON, one object per line
    #[arg(long)]
    json: bool,

    /// Also write the results to a file in JUnit's format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Run one case in this process
    #[arg(long, value_name = "NAME", hide = true)]
    run_case: Option<String>,
}

/// The result of a case.
struct CaseResult {
    case: &'static Case,
    verdict: Verdict,
    seconds: f64,
}

pub(super) fn run(args: &TestPluginArgs) -> Result<ExitCode, Failure> {
    if args.list {
        say!("{}", table());
        return Ok(ExitCode::SUCCESS);
    }
    let library = args.library.as_deref().unwrap_or(Path::new(""));
    if let Some(name) = &args.run_case {
        return run_here(library, name, args);
    }
    if !library.is_file() {
        return Err(Failure::usage(format!("{} is not a file", library.display())));
    }
    refuse_untrusted(library)?;
    given(args)?;
    let chosen = |case: &&Case| {
        args.case.is_empty() || args.case.iter().any(|start| case.name.starts_with(start))
    };
    let mut all = Vec::new();
    for case in cases().filter(chosen) {
        let result = try_apart(case, library, args).map_err(Failure::usage)?;
        print_result(&result, args.json);
        all.push(result);
    }
    if all.is_empty() {
        return Err(Failure::usage("no case name starts with this; --list prints all cases"));
    }
    if let Some(path) = &args.junit {
        let text = junit(library, &all);
        std::fs::write(path, text).map_err(|error| Failure::could_not_write(path, &error))?;
    }
    let count = |wanted: fn(&Verdict) -> bool| all.iter().filter(|it| wanted(&it.verdict)).count();
    let failed = count(|verdict| matches!(verdict, Verdict::Failed(_)));
    let skipped = count(|verdict| matches!(verdict, Verdict::Skipped(_)));
    if !args.json {
        let (passed, seed) = (all.len() - failed - skipped, args.seed);
        say!("{passed} passed, {failed} failed, {skipped} skipped (seed {seed})");
    }
    if failed > 0 {
        let name = library.display();
        return Err(Failure::plugin(format!("{name} fails {failed} of {} cases", all.len())));
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the policy of the machine refuses the library, no case runs.
fn refuse_untrusted(library: &Path) -> Result<(), Failure> {
    let trust = Trust::of_machine(std::path::absolute(LOCK).unwrap_or_default());
    untrusted(library, &trust).map_or(Ok(()), |error| Err(error.into()))
}

/// The settings and the shape of samples.
fn given(args: &TestPluginArgs) -> Result<Given, Failure> {
    let settings =
        args.set.iter().map(|text| text.parse()).collect::<Result<Vec<GivenSetting>, _>>();
    let settings = settings.map_err(|why| Failure::usage(format!("--set: {why}")))?;
    if let Some(size) = args.shape.iter().find(|size| !(1..=4096).contains(*size)) {
        return Err(Failure::usage(format!("--shape: a size of {size} is not between 1 and 4096")));
    }
    Ok(Given { settings, shape: args.shape.clone() })
}

/// In the child: runs a case and prints its verdict.
fn run_here(library: &Path, name: &str, args: &TestPluginArgs) -> Result<ExitCode, Failure> {
    let case = cases().find(|case| case.name == name);
    let case = case.ok_or_else(|| Failure::usage(format!("no case `{name}`")))?;
    let env = CaseEnv::new(library, args.seed, given(args)?);
    let env = env.map_err(|error| Failure::usage(format!("{}: {error}", library.display())))?;
    let verdict = match case.run(&env) {
        Verdict::Passed => json!({ "passed": true }),
        Verdict::Skipped(why) => json!({ "skipped": why }),
        Verdict::Failed(why) => json!({ "failed": why }),
    };
    say!("{MARK}{verdict}");
    Ok(ExitCode::SUCCESS)
}

/// Runs a case in a child process.
fn try_apart(case: &'static Case, library: &Path, args: &TestPluginArgs) -> io::Result<CaseResult> {
    let began = Instant::now();
    let (out, errors) = (tempfile::NamedTempFile::new()?, tempfile::NamedTempFile::new()?);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("test-plugin").arg(library).args(["--run-case", case.name]);
    command.args(["--seed", &args.seed.to_string()]).process_group(0);
    command.args(args.set.iter().map(|setting| format!("--set={setting}")));
    let sizes: Vec<_> = args.shape.iter().map(i64::to_string).collect();
    command.args(["--shape", &sizes.join(",")]);
    command.stdout(File::create(out.path())?).stderr(File::create(errors.path())?);
    let mut child = command.spawn()?;
    let limit = Duration::from_secs(args.time_limit);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if began.elapsed() > limit {
            break None;
        }
        std::thread::sleep(TICK);
    };
    // With everything that it started.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
    let said = std::fs::read_to_string(out.path()).unwrap_or_default();
    let complaints = std::fs::read(errors.path()).unwrap_or_default();
    let verdict = match status {
        None => Verdict::Failed(format!("did not finish within {} s", args.time_limit)),
        Some(status) => verdict_of(status, &said, &String::from_utf8_lossy(&complaints)),
    };
    Ok(CaseResult { case, verdict, seconds: began.elapsed().as_secs_f64() })
}

fn verdict_of(status: ExitStatus, said: &str, complaints: &str) -> Verdict {
    let written = said.lines().rev().find_map(|line| line.split_once(MARK));
    let written = written.and_then(|(_, verdict)| serde_json::from_str::<Json>(verdict).ok());
    let last = || complaints.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    match (status.signal(), written) {
        (Some(signal), _) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            let report = last().strip_prefix("error: ");
            let named = || format!("the process was killed by {name}");
            Verdict::Failed(report.map_or_else(named, str::to_owned))
        }
        (None, Some(written)) if status.success() => {
            let text = |key: &str| written[key].as_str().map(str::to_owned);
            match (text("failed"), text("skipped")) {
                (Some(why), _) => Verdict::Failed(why),
                (None, Some(why)) => Verdict::Skipped(why),
                (None, None) => Verdict::Passed,
            }
        }
        (None, _) => Verdict::Failed(format!("the process ended with {status}: {}", last())),
    }
}

fn words(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Passed => ("passed", ""),
        Verdict::Skipped(why) => ("skipped", why),
        Verdict::Failed(why) => ("failed", why),
    }
}

fn print_result(result: &CaseResult, json: bool) {
    let CaseResult { case, verdict, seconds } = result;
    let (word, why) = words(verdict);
    if json {
        let name = case.name;
        say!("{}", json!({ "case": name, "verdict": word, "why": why, "seconds": seconds }));
        return;
    }
    say!("{word:<8} {:<28} {}", case.name, if why.is_empty() { case.demands } else { why });
}

/// The cases as a table in Markdown.
fn table() -> String {
    let mut out = String::from("| case | requirement |\n|---|---|");
    for case in cases() {
        _ = write!(out, "\n| `{}` | {} |", case.name, case.demands);
    }
    out
}

fn junit(library: &Path, all: &[CaseResult]) -> String {
    let count = |word| all.iter().filter(|it| words(&it.verdict).0 == word).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
        escape(&library.display().to_string()),
        all.len(),
        count("failed"),
        count("skipped")
    );
    for CaseResult { case, verdict, seconds } in all {
        let (group, name) = case.name.split_once('.').unwrap_or(("", case.name));
        _ = write!(out, "  <testcase classname=\"{group}\" name=\"{name}\" time=\"{seconds:.3}\"");
        _ = match words(verdict) {
            ("passed", _) => writeln!(out, "/>"),
            ("skipped", why) => {
                writeln!(out, "><skipped message=\"{}\"/></testcase>", escape(why))
            }
            (_, why) => writeln!(out, "><failure message=\"{}\"/></testcase>", escape(why)),
        };
    }
    out + "</testsuite>\n"
}

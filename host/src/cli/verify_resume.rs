//! `hookrack verify-resume`: proves for a config and its plugins that a run which is killed and resumed ends with the same
//! bits as an uninterrupted one.

use super::ConfigSource;
use super::exit::Failure;
use super::run_values::{RunValues, run_values};
use crate::engine::MemoryFormat;
use crate::run::checkpoint::{self, Checkpoint, name_of};
use crate::train::Interrupt;
use crate::writers::leave_interrupted;
use clap::Args;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
use serde_json::Value as Json;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

/// Polling interval.
const TICK: Duration = Duration::from_millis(1);

/// Verify that a killed and resumed run is bit-identical to an uninterrupted one
#[derive(Args)]
#[command(after_help = help!("\
Trains three times for AT + STEPS iterations: twice without interruption, and once killed after
iteration AT and resumed. Differences between the first two runs are reported but not counted
against the resume. The comparison covers the last checkpoint, metrics.json, and the state of every
hook and metric, right after the resume and at the end. With --ranks N each of the three trains on N
ranks of this machine, all of which are killed.

Examples:
  hookrack verify-resume configs/quickstart.toml --at 30 --steps 20
  hookrack verify-resume configs/quickstart.toml --at 30 --steps 20 --ranks 2"))]
pub(super) struct VerifyResumeArgs {
    #[command(flatten)]
    source: ConfigSource,

    /// Kill the run after this iteration
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    at: u64,

    /// Number of iterations to train after the resume
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,

    /// Number of ranks to train on; it must divide train.batch_size
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    ranks: u16,
}

pub(super) fn run(args: &VerifyResumeArgs) -> Result<ExitCode, Failure> {
    let folder = std::env::temp_dir().join(format!("hookrack-verify-{}", std::process::id()));
    let verified = verify(args, &folder);
    // The runs are temporary; failing to remove them is harmless.
    let _ = std::fs::remove_dir_all(&folder);
    verified
}

fn verify(args: &VerifyResumeArgs, folder: &Path) -> Result<ExitCode, Failure> {
    // Ranks whose launcher is killed become children of this process, which waits for their end.
    set_child_subreaper(Some(getpid())).map_err(Failure::usage)?;
    let until = args.at.saturating_add(args.steps);
    let interrupt = Interrupt::listen(leave_interrupted).map_err(Failure::usage)?;
    let mut trial = Trial { args, until, folder, interrupt, format: None };
    say!("1 of 3: {until} iterations without interruption");
    let whole = trial.whole("whole")?;
    trial.format = trial.checkpoint("whole")?.engine.memory_format();
    say!("2 of 3: again, to find what is not deterministic");
    let again = trial.whole("again")?;
    say!("3 of 3: killed after iteration {}, resumed for {}", args.at, args.steps);
    let resumed = trial.resumed("resumed")?;
    let restless: Vec<_> = whole.differing(&again);
    for fact in &restless {
        say!("differs without a resume, ignored: {fact}");
    }
    let wrong: Vec<_> =
        whole.differing(&resumed).into_iter().filter(|fact| !restless.contains(fact)).collect();
    let Some(first) = wrong.first() else {
        say!("identical: {} tensors and values, bit for bit", whole.len() - restless.len());
        return Ok(ExitCode::SUCCESS);
    };
    let (count, all, suspects) = (wrong.len(), whole.len(), trial.suspects("resumed")?);
    Err(Failure::training(format!(
        "the resumed run differs in {count} of {all}; the first is {first}{suspects}"
    )))
}

struct Trial<'a> {
    args: &'a VerifyResumeArgs,
    until: u64,
    folder: &'a Path,
    interrupt: Interrupt,
    // What the first run trained in: the others must not choose for themselves.
    format: Option<MemoryFormat>,
}

impl Trial<'_> {
    /// Where a run leaves the states of its hooks.
    fn held(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.held"))
    }

    fn command(&self, name: &str) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(Failure::usage)?;
        let mut command = Command::new(program);
        if self.args.ranks > 1 {
            command.args(["launch", "--ranks", &self.args.ranks.to_string(), "--"]);
        }
        command.arg("train").arg(&self.args.source.config).arg("--quiet");
        command.arg("--until").arg(self.until.to_string());
        command.arg("--held").arg(format!("{}:{}", self.args.at, self.held(name).display()));
        for set in &self.args.source.set {
            command.arg("--set").arg(set);
        }
        if let Some(format) = self.format {
            command.arg("--set").arg(format!("train.memory_format={}", format.name()));
        }
        command.stdout(Stdio::null());
        Ok(command)
    }

    fn finish(&self, name: &str, mut command: Command) -> Result<RunValues, Failure> {
        let run = self.folder.join(name);
        let mut child = command.spawn().map_err(Failure::usage)?;
        let status = loop {
            if let Some(status) = self.look(&mut child)? {
                break status;
            }
            std::thread::sleep(TICK);
        };
        if !status.success() {
            return Err(Failure::training(format!("the run itself failed: {status}")));
        }
        if !run.join("checkpoints").join(name_of(self.until)).exists() {
            return Err(Failure::training(format!(
                "the run ended before iteration {} (AT + STEPS): choose smaller numbers, or train longer with \
                 `-s train.max_epochs=N`",
                self.until
            )));
        }
        run_values(&run, &self.held(name), self.until)
    }

    /// The exit status of a run, if it has ended. A signal to this process ends the run too.
    fn look(&self, child: &mut Child) -> Result<Option<ExitStatus>, Failure> {
        let status = child.try_wait().map_err(Failure::usage)?;
        let Some(signal) = self.interrupt.received() else { return Ok(status) };
        // Its checkpoint is not needed: the folder is removed in a moment.
        let _ = kill(child);
        Err(Failure::interrupted(signal))
    }

    fn whole(&self, name: &str) -> Result<RunValues, Failure> {
        let mut command = self.command(name)?;
        command.arg("--run-dir").arg(self.folder.join(name));
        self.finish(name, command)
    }

    /// The last checkpoint of a run.
    fn checkpoint(&self, name: &str) -> Result<Checkpoint, Failure> {
        let path = self.folder.join(name).join("checkpoints").join(name_of(self.until));
        Ok(checkpoint::read(&path)?)
    }

    /// The plugin hooks without state in the checkpoint: whatever they keep is lost.
    fn suspects(&self, name: &str) -> Result<String, Failure> {
        let Checkpoint { hooks, state, .. } = self.checkpoint(name)?;
        let text = |member: &Json, key: &str| member[key].as_str().unwrap_or_default().to_owned();
        let members = state.provenance.members.iter().filter(|member| !member["library"].is_null());
        let names: Vec<_> = members
            .map(|member| text(member, "name"))
            .filter(|name| !hooks.contains_key(name))
            .collect();
        Ok(match names.as_slice() {
            [] => String::new(),
            names => format!("; plugin hooks that save no state: {}", names.join(", ")),
        })
    }

    fn resumed(&self, name: &str) -> Result<RunValues, Failure> {
        let run = self.folder.join(name);
        let mut command = self.command("killed")?;
        command.arg("--run-dir").arg(&run).arg("--save-at").arg(self.args.at.to_string());
        // Later in the same iteration a hook may save again, with another state.
        command.arg("--wait-after-save");
        let mut child = command.spawn().map_err(Failure::usage)?;
        let checkpoint = run.join("checkpoints").join(name_of(self.args.at));
        while self.look(&mut child)?.is_none() && !checkpoint.exists() {
            std::thread::sleep(TICK);
        }
        // The run may have ended already: the checkpoint is given by name, so that the resume starts there in any case.
        kill(&mut child).map_err(Failure::usage)?;
        let mut command = self.command(name)?;
        command.arg("--resume").arg(&checkpoint);
        self.finish(name, command)
    }
}

/// Kills a run with all its ranks, which end with their launcher, and waits until they are gone.
fn kill(child: &mut Child) -> io::Result<()> {
    let _ = child.kill();
    child.wait()?;
    while wait(WaitOptions::empty()).is_ok() {}
    Ok(())
}

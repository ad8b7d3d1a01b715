//! The process of a rank.

use super::relay::{Relay, Tail};
use super::{Event, Launch};
use crate::ranks::{LAUNCH_VARIABLE, RUN_DIR_VARIABLE};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

/// The process of a rank. Dropping it kills the process and everything it started.
pub(super) struct RankProcess {
    child: Child,
    pid: Pid,
    relays: Vec<Relay>,
    /// The end of what it wrote to standard error.
    pub(super) tail: Tail,
    status: Option<ExitStatus>,
}

/// A rank in one attempt of the launcher: its number, how often the ranks were restarted, the port of their store.
#[derive(Clone, Copy)]
pub(super) struct RankAttempt {
    pub(super) rank: usize,
    pub(super) restart: u32,
    pub(super) port: u16,
}

impl RankProcess {
    /// Starts a rank in its own process group, so that Ctrl-C in the terminal reaches only the launcher, which forwards it. The listening
    /// socket, if any, becomes its standard input.
    pub(super) fn start(
        launch: &Launch,
        attempt: RankAttempt,
        listener: Option<TcpListener>,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        let mut command = command(launch, attempt);
        let inherits = launch.style.inherits(attempt.rank);
        let stdio = |inherited| if inherited { Stdio::inherit() } else { Stdio::piped() };
        command.stdin(listener.map_or_else(Stdio::null, |socket| OwnedFd::from(socket).into()));
        command.stdout(stdio(inherits.stdout)).stderr(stdio(inherits.stderr));
        let mut child = command.process_group(0).spawn()?;
        // Also closes the launcher's copy of the socket.
        drop(command);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the process has no valid id"))?;
        let (before_out, before_err) = launch.style.prefixes(attempt.rank);
        let tail = Tail::default();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut process = Self { child, pid, relays: Vec::new(), tail, status: None };
        if let Some(stdout) = stdout {
            process.relays.push(Relay::to_stdout(stdout, before_out)?);
        }
        if let Some(stderr) = stderr {
            process.relays.push(Relay::to_stderr(stderr, before_err, process.tail.clone())?);
        }
        process.announce_end(attempt.rank, events.clone())?;
        Ok(process)
    }

    /// Sends an event when the process has ended. The receiver reaps it; until then its id cannot be reused.
    fn announce_end(&self, rank: usize, events: Sender<Event>) -> io::Result<()> {
        let pid = self.pid;
        let wait = move || {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), ended), Err(rustix::io::Errno::INTR)) {}
            let _ = events.send(Event::Ended(rank));
        };
        thread::Builder::new().name(format!("rank {rank}")).spawn(wait).map(|_| ())
    }

    pub(super) fn is_running(&self) -> bool {
        self.status.is_none()
    }

    /// Sends a signal if it is running. A stopped process is continued, as it would not receive it otherwise.
    pub(super) fn signal(&self, signal: Signal) {
        if self.is_running() {
            let _ = kill_process(self.pid, signal);
            let _ = kill_process(self.pid, Signal::CONT);
        }
    }

    /// Kills it and everything it started.
    pub(super) fn kill(&self) {
        if self.is_running() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Its exit status, once it has ended; processes that it left running are killed, and its output is relayed to the end.
    pub(super) fn reap(&mut self) -> io::Result<ExitStatus> {
        self.kill();
        let status = self.child.wait()?;
        self.status = Some(status);
        self.relays.drain(..).for_each(Relay::finish);
        Ok(status)
    }
}

impl Drop for RankProcess {
    fn drop(&mut self) {
        if self.is_running() {
            let _ = self.reap();
        }
    }
}

/// The command of a rank, with the variables that torchrun would set.
fn command(launch: &Launch, RankAttempt { rank, restart, port }: RankAttempt) -> Command {
    let mut command = Command::new(&launch.program);
    let launcher = std::process::id();
    command.args(&launch.args);
    command.env_remove("TORCHELASTIC_USE_AGENT_STORE");
    let numbers = [("RANK", rank), ("LOCAL_RANK", rank), ("GROUP_RANK", 0)];
    let sizes = [("WORLD_SIZE", launch.ranks), ("LOCAL_WORLD_SIZE", launch.ranks)];
    for (variable, value) in numbers.into_iter().chain(sizes) {
        command.env(variable, value.to_string());
    }
    command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
    command.env("TORCHELASTIC_RUN_ID", format!("hookrack-{launcher}"));
    command.env("TORCHELASTIC_RESTART_COUNT", restart.to_string());
    command.env("TORCHELASTIC_MAX_RESTARTS", launch.restarts.to_string());
    command.env(LAUNCH_VARIABLE, launcher.to_string());
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    match &launch.run_dir {
        Some(run_dir) => command.env(RUN_DIR_VARIABLE, run_dir),
        None => command.env_remove(RUN_DIR_VARIABLE),
    };
    command
}

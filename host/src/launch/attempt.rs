//! One start of all ranks, until the last one has ended.

use super::failure::exit_code;
use super::process::{RankAttempt, RankProcess};
use super::{Event, Launch, RankFailure};
use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGUSR1};
use std::io;
use std::net::TcpListener;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// How long a rank has to restore the terminal after a second signal.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// Exit codes of a rank that was interrupted and has saved: after SIGINT, after SIGTERM or SIGUSR1.
const INTERRUPTED: [u8; 2] = [130, 143];

/// One start of all ranks.
pub(super) struct Attempt<'a> {
    launch: &'a Launch,
    processes: Vec<RankProcess>,
    /// When the ranks that are still running are killed.
    deadline: Option<Instant>,
    /// Whether they were killed.
    has_killed: bool,
    /// The number of signals received that ask the run to end.
    signals: usize,
    failure: Option<RankFailure>,
    interrupted: Option<u8>,
}

/// How an attempt ended.
pub(super) enum End {
    Completed,
    Interrupted(u8),
    /// The rank that failed first, and whether a restart may follow: none does after a signal to the launcher.
    Failed {
        failure: RankFailure,
        is_final: bool,
    },
}

impl<'a> Attempt<'a> {
    pub(super) fn start(
        launch: &'a Launch,
        restart: u32,
        listener: TcpListener,
        events: &Sender<Event>,
    ) -> io::Result<Self> {
        let port = listener.local_addr()?.port();
        let mut listener = Some(listener);
        let start = |rank| {
            // Only rank 0 has the socket: connections after its end are refused instead of waiting.
            let listener = listener.take().filter(|_| launch.ranks > 1);
            RankProcess::start(launch, RankAttempt { rank, restart, port }, listener, events)
        };
        let processes = (0..launch.ranks).map(start).collect::<io::Result<Vec<_>>>()?;
        Ok(Self {
            launch,
            processes,
            deadline: None,
            has_killed: false,
            signals: 0,
            failure: None,
            interrupted: None,
        })
    }

    /// Waits until all ranks have ended.
    pub(super) fn watch(mut self, events: &Receiver<Event>) -> End {
        while self.processes.iter().any(RankProcess::is_running) {
            match self.next(events) {
                Some(Event::Ended(rank)) => self.ended(rank),
                Some(Event::Signal(signal)) => self.forward(signal),
                None => self.kill(),
            }
        }
        let is_final = self.signals > 0;
        match (self.failure, self.interrupted) {
            (Some(failure), _) => End::Failed { failure, is_final },
            (None, Some(code)) => End::Interrupted(code),
            (None, None) => End::Completed,
        }
    }

    /// The next event; `None` at the deadline.
    fn next(&self, events: &Receiver<Event>) -> Option<Event> {
        match self.deadline {
            Some(deadline) => {
                events.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
            }
            None => events.recv().ok(),
        }
    }

    fn ended(&mut self, rank: usize) {
        let process = &mut self.processes[rank];
        let Ok(status) = process.reap() else { return };
        // After a second signal the ranks are killed here; their exit codes do not matter.
        if status.success() || self.signals > 1 {
            return;
        }
        if self.failure.is_some() {
            return self.replace_consequence(rank, status);
        }
        if self.is_interruption(status) {
            self.interrupted.get_or_insert(exit_code(status));
            if self.signals == 0 {
                // The signal was sent to this rank, which has saved a checkpoint.
                self.signal(Signal::TERM);
            }
            return;
        }
        self.failure = Some(self.failure_of(rank, status));
        self.signal(Signal::TERM);
        self.deadline = Some(Instant::now() + self.launch.grace);
    }

    fn failure_of(&self, rank: usize, status: ExitStatus) -> RankFailure {
        RankFailure { rank, status, last_lines: self.processes[rank].tail.lines() }
    }

    /// Replaces the failure if this rank is more likely the cause: the cause may end later than the ranks that noticed it. A rank that
    /// was asked to end, or was killed here, is not the cause.
    fn replace_consequence(&mut self, rank: usize, status: ExitStatus) {
        let is_consequence = |code| code == self.launch.consequence;
        let is_known = self.failure.as_ref().is_some_and(|it| !is_consequence(it.exit_code()));
        let code = exit_code(status);
        if !is_known && !is_consequence(code) && !INTERRUPTED.contains(&code) && !self.has_killed {
            self.failure = Some(self.failure_of(rank, status));
        }
    }

    /// Whether a rank ended because it was asked to: according to its exit code, or killed by a forwarded signal before it had a handler.
    fn is_interruption(&self, status: ExitStatus) -> bool {
        INTERRUPTED.contains(&exit_code(status)) && (self.signals > 0 || status.code().is_some())
    }

    /// Forwards a signal to all ranks. A second request to end kills them.
    fn forward(&mut self, signal: i32) {
        if signal == SIGUSR1 {
            self.signal(Signal::USR1);
            return;
        }
        self.signals += 1;
        if self.signals > 1 {
            let code = if signal == SIGINT { 130 } else { 143 };
            self.interrupted.get_or_insert(code);
            // On a second SIGINT a rank restores the terminal and exits.
            self.signal(Signal::INT);
            self.deadline = Some(Instant::now() + LAST_MOMENT);
            return;
        }
        // Closing the terminal must not lose the work since the last checkpoint.
        self.signal(if signal == SIGINT { Signal::INT } else { Signal::TERM });
    }

    fn signal(&self, signal: Signal) {
        self.processes.iter().for_each(|process| process.signal(signal));
    }

    fn kill(&mut self) {
        self.processes.iter().for_each(RankProcess::kill);
        (self.deadline, self.has_killed) = (None, true);
    }
}

//! Starts the ranks of a run as processes on this machine, relays their output, and ends all of them when one fails.

mod attempt;
mod failure;
mod parent_death;
mod process;
mod relay;

pub use failure::RankFailure;
pub use parent_death::end_with_launcher;
pub use relay::{Streams, Style};

use attempt::{Attempt, End};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// What to start, and how.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program of every rank.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The number of ranks.
    pub ranks: usize,
    /// Maximum number of restarts after a failure.
    pub restarts: u32,
    /// The number of earlier starts of the run; the ranks' restart count continues from it.
    pub earlier: u32,
    /// Exit codes after which a restart would fail in the same way.
    pub permanent: &'static [u8],
    /// Exit code of a rank that ended because another one failed.
    pub consequence: u8,
    /// The port of rank 0's store; if `None`, a free one, chosen anew for each restart.
    pub port: Option<u16>,
    /// How long the other ranks have to exit after one has failed, before they are killed.
    pub grace: Duration,
    /// The run directory of all ranks and restarts, if it is chosen here.
    pub run_dir: Option<PathBuf>,
    /// Further variables of the ranks.
    pub environment: Vec<(OsString, OsString)>,
    /// How their output is relayed.
    pub style: Style,
}

/// How a launch ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every rank succeeded.
    Completed,
    /// The ranks ended after a signal, with this exit code.
    Interrupted(u8),
    /// A rank failed; the first one, if several did.
    Failed(RankFailure),
}

/// What the launcher reacts to.
enum Event {
    /// A rank has ended.
    Ended(usize),
    /// A signal arrived.
    Signal(i32),
}

impl Launch {
    /// Runs all ranks until they end; calls `again` before each restart, with the failure and the number of the restart. Call it from a
    /// thread that lives as long as the process: the kernel kills the ranks when that thread ends.
    ///
    /// # Errors
    /// A process or a thread cannot be started, or no port is free.
    pub fn run(&self, mut again: impl FnMut(&RankFailure, u32)) -> io::Result<Outcome> {
        let (sender, events) = mpsc::channel();
        let signals = listen(&sender)?;
        let outcome = self.attempts(&sender, &events, &mut again);
        signals.close();
        outcome
    }

    fn attempts(
        &self,
        sender: &Sender<Event>,
        events: &Receiver<Event>,
        again: &mut dyn FnMut(&RankFailure, u32),
    ) -> io::Result<Outcome> {
        for restart in 0.. {
            let listener = self.listener()?;
            let number = self.earlier + restart;
            match Attempt::start(self, number, listener, sender)?.watch(events) {
                End::Completed => return Ok(Outcome::Completed),
                End::Interrupted(code) => return Ok(Outcome::Interrupted(code)),
                End::Failed { failure, is_final } => {
                    let is_permanent = self.permanent.contains(&failure.exit_code());
                    if is_final || is_permanent || restart >= self.restarts {
                        return Ok(Outcome::Failed(failure));
                    }
                    again(&failure, restart + 1);
                }
            }
        }
        Ok(Outcome::Completed)
    }

    /// The socket of rank 0's store. Rank 0 inherits it, so that no other process can take the port in between.
    fn listener(&self) -> io::Result<TcpListener> {
        let port = self.port.unwrap_or(0);
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
            let why = format!(
                "could not open port {port} for the ranks: {error}; choose another with --port, or leave it out"
            );
            io::Error::new(error.kind(), why)
        })
    }
}

/// Turns signals into events.
fn listen(sender: &Sender<Event>) -> io::Result<signal_hook::iterator::Handle> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGUSR1, SIGHUP])?;
    let (handle, sender) = (signals.handle(), sender.clone());
    let forward = move || {
        for signal in signals.forever() {
            if sender.send(Event::Signal(signal)).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(forward)?;
    Ok(handle)
}

#[cfg(test)]
mod tests;

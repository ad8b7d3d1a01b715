//! Starts the ranks of a run as processes of this machine, passes on what they print, and ends all when one fails.

mod attempt;
mod failure;
mod process;
mod relay;
mod tether;

pub use failure::RankFailure;
pub use relay::{Streams, Style};
pub use tether::tether;

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
    /// How often to start all of them again after a failure.
    pub restarts: u32,
    /// Exit codes after which a restart would fail in the same way.
    pub permanent: &'static [u8],
    /// The exit code of a rank that ends because another one failed: it is not the cause.
    pub consequence: u8,
    /// The port at which they meet; a free one if `None`, another one for each restart.
    pub port: Option<u16>,
    /// How long the others have to end after one failed, before they are killed.
    pub grace: Duration,
    /// The run directory of all ranks and restarts, if it is chosen here.
    pub run_dir: Option<PathBuf>,
    /// How to pass on what they print.
    pub style: Style,
}

/// How a launch ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every rank succeeded.
    Completed,
    /// The ranks ended after a signal, with this exit code.
    Interrupted(u8),
    /// A rank failed, before all others that did.
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
    /// Runs all ranks to their end; calls `again` before each restart, with the failure and the number of the restart. Call it from a thread that lives
    /// as long as the process: the ranks end when it does.
    ///
    /// # Errors
    /// A process, a thread or a port is not to be had.
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
            match Attempt::start(self, restart, listener, sender)?.watch(events) {
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

    /// The socket at which the ranks meet, which rank 0 inherits: nobody else can take its port in between.
    fn listener(&self) -> io::Result<TcpListener> {
        let port = self.port.unwrap_or(0);
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
            let why = format!("port {port} for the ranks to meet at could not be opened: {error}");
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

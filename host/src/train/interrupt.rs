//! Signals: a handler sets a flag, the loop acts at the next boundary.

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::Builder;
use std::time::Duration;

/// How long restoring the terminal may take.
const PATIENCE: Duration = Duration::from_millis(250);

/// The message on the terminal meanwhile.
const FIRST: &str = "interrupted: stopping after the current step; interrupt again to quit immediately without saving";

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// A scheduler's request.
    Terminate,
    /// A batch system's warning that the job's time is nearly over.
    User,
}

impl Signal {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::User];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::User => "SIGUSR1",
        }
    }

    /// Its exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate | Self::User => 143,
        }
    }

    /// Its number in messages between ranks; 0 for none.
    pub(super) fn code(self) -> i64 {
        match self {
            Self::User => 1,
            Self::Terminate => 2,
            Self::Interrupt => 3,
        }
    }

    /// The signal with a number.
    pub(super) fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.code() == code)
    }

    /// The signal of a number.
    pub(super) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }

    /// Its number.
    pub(super) fn number(self) -> i32 {
        match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
            Self::User => SIGUSR1,
        }
    }
}

/// Whether a signal arrived.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    received: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Installs the handlers. The first SIGINT, SIGTERM or SIGUSR1 is recorded; a second SIGINT ends the process immediately,
    /// after `tidy` has restored the terminal.
    pub fn listen(tidy: fn()) -> io::Result<Self> {
        let interrupt = Self::default();
        for signal in Signal::ALL {
            let number = usize::try_from(signal.number()).unwrap_or(0);
            flag::register_usize(signal.number(), Arc::clone(&interrupt.received), number)?;
        }
        let mut interrupts = Signals::new([SIGINT])?;
        let wait = move || {
            let mut interrupts = interrupts.forever();
            // The loop handles the first one.
            if interrupts.next().is_some() {
                tracing::warn!("{FIRST}");
            }
            if interrupts.next().is_some() {
                end(tidy);
            }
        };
        Builder::new().name("interrupts".to_owned()).spawn(wait)?;
        Ok(interrupt)
    }

    /// The signal that arrived.
    pub fn received(&self) -> Option<Signal> {
        let number = self.received.load(Ordering::Relaxed);
        Signal::ALL.into_iter().find(|signal| usize::try_from(signal.number()) == Ok(number))
    }
}

/// Ends the process even if another thread holds what `tidy` waits for.
fn end(tidy: fn()) -> ! {
    let (done, is_done) = mpsc::channel();
    let work = move || {
        tidy();
        let _ = done.send(());
    };
    if Builder::new().spawn(work).is_ok() {
        let _ = is_done.recv_timeout(PATIENCE);
    }
    low_level::exit(Signal::Interrupt.exit_code().into())
}

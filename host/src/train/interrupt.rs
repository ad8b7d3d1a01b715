//! Signals: a handler sets a flag, the loop acts at the next boundary.

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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
    const ALL: [Self; 3] = [Self::Interrupt, Self::Terminate, Self::User];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::User => "SIGUSR1",
        }
    }

    /// The exit code that says so.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate | Self::User => 143,
        }
    }

    fn number(self) -> i32 {
        match self {
            Self::Interrupt => SIGINT,
            Self::Terminate => SIGTERM,
            Self::User => SIGUSR1,
        }
    }
}

/// Whether a signal came.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    received: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on. The first SIGINT, SIGTERM or SIGUSR1 is noted; a second SIGINT ends the process at once.
    pub fn listen() -> std::io::Result<Self> {
        let interrupt = Self::default();
        let again = Arc::new(AtomicBool::new(false));
        // Order matters: the second SIGINT finds `again` set by the first.
        flag::register_conditional_shutdown(
            SIGINT,
            Signal::Interrupt.exit_code().into(),
            Arc::clone(&again),
        )?;
        flag::register(SIGINT, again)?;
        for signal in Signal::ALL {
            let number = usize::try_from(signal.number()).unwrap_or(0);
            flag::register_usize(signal.number(), Arc::clone(&interrupt.received), number)?;
        }
        Ok(interrupt)
    }

    /// The signal that came.
    pub fn received(&self) -> Option<Signal> {
        let number = self.received.load(Ordering::Relaxed);
        Signal::ALL.into_iter().find(|signal| usize::try_from(signal.number()) == Ok(number))
    }
}

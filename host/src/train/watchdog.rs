//! A thread that notices a hook that does not return, or that replaces the handler of a signal: it is named, and a signal still ends the run.

use super::interrupt::{Interrupt, Signal};
use crate::plugins::crash::{Frame, SignalGuard, training_stack};
use crate::position::{self, Position};
use signal_hook::low_level;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(200);

/// The maximum time of a call after a signal to end the run: less than schedulers wait before they kill.
const GRACE: Duration = Duration::from_secs(20);

/// How many frames a message has.
const SHOWN: usize = 8;

/// Watches the training thread until it is dropped.
#[derive(Debug)]
pub struct Watchdog {
    _stop: Sender<()>,
}

/// What the thread has seen.
struct Watch {
    // How long a call may take.
    limit: Duration,
    interrupt: Interrupt,
    tidy: fn(),
    handlers: SignalGuard,
    seen: Position,
    since: Instant,
    has_warned: bool,
    // The signal that arrived, and when it was noticed.
    signal: Option<(Signal, Instant)>,
}

impl Watchdog {
    /// Starts it. A call of a hook that takes longer than `limit` is reported, unless that is zero. `tidy` restores the terminal before a run that hangs
    /// is ended by a signal.
    pub fn start(limit: Duration, interrupt: Interrupt, tidy: fn()) -> Self {
        let limit = if limit.is_zero() { Duration::MAX } else { limit };
        let (stop, stopped) = mpsc::channel();
        let mut watch = Watch::new(limit, interrupt, tidy);
        let watch = move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                watch.look();
            }
        };
        let started = Builder::new().name("watchdog".to_owned()).spawn(watch);
        if let Err(error) = started {
            tracing::warn!("hooks that hang will not be reported: {error}");
        }
        Self { _stop: stop }
    }
}

impl Watch {
    fn new(limit: Duration, interrupt: Interrupt, tidy: fn()) -> Self {
        Self {
            limit,
            interrupt,
            tidy,
            handlers: SignalGuard::of(&Signal::ALL.map(Signal::number)),
            seen: position::current(),
            since: Instant::now(),
            has_warned: false,
            signal: None,
        }
    }

    fn look(&mut self) {
        let now = position::current();
        for signal in self.handlers.restore().into_iter().filter_map(Signal::from_number) {
            tracing::warn!(
                "the handler of {} was replaced ({now}): it is restored, so that the signal still ends the run",
                signal.name()
            );
        }
        if now.call != self.seen.call {
            (self.seen, self.since, self.has_warned) = (now, Instant::now(), false);
        }
        if let Some(signal) = self.interrupt.received() {
            self.signal.get_or_insert((signal, Instant::now()));
        }
        let in_call = self.since.elapsed();
        if now.hook.is_none() {
            return;
        }
        if in_call > self.limit && !self.has_warned {
            self.has_warned = true;
            tracing::warn!("{}; waiting for it", describe(now, in_call));
        }
        let grace = self.limit.min(GRACE);
        if let Some((signal, at)) = self.signal
            && at.elapsed() > grace
            && in_call > grace
        {
            tracing::error!(
                "{}: ending without saving, because {} has requested the end of the run",
                describe(now, in_call),
                signal.name()
            );
            (self.tidy)();
            low_level::exit(signal.exit_code().into());
        }
    }
}

/// `hook `Slow` (libslow.so) has not returned from after_train_iter for 60 s, iteration 12; its stack: libslow.so+0x1139, …`.
fn describe(position: Position, in_call: Duration) -> String {
    let (name, source) = position.hook.map_or(("?", "?"), |hook| (&*hook.name, &*hook.source));
    let point = position.point.map_or("a call of the host", |point| point.name());
    let stack: Vec<_> = training_stack().iter().take(SHOWN).map(Frame::to_string).collect();
    let stack = if stack.is_empty() {
        "its stack is unknown".to_owned()
    } else {
        format!("its stack: {}", stack.join(", "))
    };
    format!(
        "hook `{name}` ({source}) has not returned from {point} for {:.0} s, iteration {}; {stack}",
        in_call.as_secs_f64(),
        position.iter
    )
}

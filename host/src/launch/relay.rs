//! Relays the output of the ranks line by line, prefixed with the rank.

use crate::stdio;
use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Lines kept of a rank's standard error, to be shown if it fails first.
const KEPT: usize = 12;

/// The longest line that is relayed in one piece.
const LONGEST: u64 = 64 * 1024;

/// How long to wait for more output of a rank that has ended: a process that it left behind in another session may hold the pipe open.
const PATIENCE: Duration = Duration::from_secs(1);

/// How the output of the ranks is relayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Which streams of this process rank 0 writes to directly: on a terminal it redraws its progress line.
    pub inherits: Streams,
    /// Whether lines are relayed unchanged, without the rank, because a program reads them.
    pub is_raw: bool,
}

/// Standard output and standard error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Streams {
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
}

impl Style {
    /// For a person: on a terminal rank 0 writes to it directly, and the lines of the other ranks are inserted.
    pub fn for_terminal() -> Self {
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self { inherits: Streams { stdout, stderr }, is_raw: false }
    }

    /// For a program that reads lines of JSON.
    pub fn raw() -> Self {
        Self { inherits: Streams { stdout: true, stderr: false }, is_raw: true }
    }

    /// Which streams a rank inherits.
    pub(super) fn inherits(self, rank: usize) -> Streams {
        if rank == 0 { self.inherits } else { Streams::default() }
    }

    /// The prefix of a line of a rank's standard output and standard error.
    pub(super) fn prefixes(self, rank: usize) -> (String, String) {
        if self.is_raw {
            return Default::default();
        }
        let Streams { stdout, stderr } = self.inherits;
        // Replaces the progress line of rank 0, which is redrawn below.
        let clear = |is_there| if is_there { "\r\x1b[2K" } else { "" };
        (format!("{}[{rank}] ", clear(stdout)), format!("{}[{rank}] ", clear(stdout && stderr)))
    }
}

/// The last lines that a rank wrote to standard error.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Tail {
    fn push(&self, line: &[u8]) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(line).trim_end().to_owned());
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// A thread that relays one stream of a rank.
pub(super) struct Relay {
    done: Receiver<()>,
    is_printing: Arc<AtomicBool>,
}

impl Relay {
    pub(super) fn to_stdout(from: impl Read + Send + 'static, prefix: String) -> io::Result<Self> {
        Self::start(from, prefix, |_| (), stdio::print_bytes)
    }

    pub(super) fn to_stderr(
        from: impl Read + Send + 'static,
        prefix: String,
        tail: Tail,
    ) -> io::Result<Self> {
        Self::start(from, prefix, move |line| tail.push(line), stdio::complain_bytes)
    }

    fn start(
        from: impl Read + Send + 'static,
        prefix: String,
        mut keep: impl FnMut(&[u8]) + Send + 'static,
        print: fn(&[u8]),
    ) -> io::Result<Self> {
        let (sender, done) = mpsc::channel();
        let is_printing = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_printing);
        let pass_on = move || {
            let mut from = BufReader::new(from);
            let mut line = prefix.clone().into_bytes();
            while matches!(from.by_ref().take(LONGEST).read_until(b'\n', &mut line), Ok(1..)) {
                keep(&line[prefix.len()..]);
                if !line.ends_with(b"\n") {
                    line.push(b'\n');
                }
                // In one piece, so that lines of two ranks do not mix.
                flag.store(true, Ordering::Relaxed);
                print(&line);
                flag.store(false, Ordering::Relaxed);
                line.truncate(prefix.len());
            }
            let _ = sender.send(());
        };
        thread::Builder::new().name("relay".to_owned()).spawn(pass_on)?;
        Ok(Self { done, is_printing })
    }

    /// Waits until everything has been relayed.
    pub(super) fn finish(self) {
        // A reader that pauses, such as a pager, still gets everything.
        while self.done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout)
            && self.is_printing.load(Ordering::Relaxed)
        {}
    }
}

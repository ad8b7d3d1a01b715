//! Accesses the store of the ranks from its own thread, with a timeout: a store on a machine that is cut off never answers. The thread
//! also sends heartbeats with the position of this rank, and receives those of the others.

use super::position::Position;
use crate::torch::TorchError;
use crate::torch::dist::Store;
use std::cell::Cell;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// The interval of heartbeats.
pub(super) const PERIOD: Duration = Duration::from_millis(500);
/// How long the store may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How long to wait for the thread to end; one that waits for an answer is detached.
const END: Duration = Duration::from_secs(1);

/// The last heartbeat of a rank.
#[derive(Clone, Debug)]
pub(super) struct LastHeartbeat {
    /// Its text: a count and a position.
    pub(super) beat: String,
    /// When it changed.
    pub(super) at: Instant,
}

type Request = Box<dyn FnOnce(&Store) + Send>;

/// What the thread has received.
#[derive(Debug)]
struct Received {
    // The last heartbeat of each rank.
    beats: Mutex<Vec<Option<LastHeartbeat>>>,
    // When the store last answered.
    answer: Mutex<Instant>,
}

/// The handle of the thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct StoreClient {
    received: Arc<Received>,
    // How long to wait at least.
    patience: Duration,
    // `None` while it is being dropped.
    requests: Option<Sender<Request>>,
    is_silent: Cell<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The state of the thread.
struct Heartbeat {
    store: Store,
    own: String,
    all: Vec<String>,
    position: Arc<Position>,
    received: Arc<Received>,
}

impl StoreClient {
    /// Starts the thread. Every rank must have sent one heartbeat before. A request waits for `patience` even if the store has not
    /// answered the last heartbeats.
    pub(super) fn start(
        store: Store,
        rank: usize,
        world: usize,
        position: Arc<Position>,
        patience: Duration,
    ) -> std::io::Result<Self> {
        let (beats, answer) = (Mutex::new(vec![None; world]), Mutex::new(Instant::now()));
        let received = Arc::new(Received { beats, answer });
        let all = (0..world).map(beat_of).collect();
        let heartbeat =
            Heartbeat { store, own: beat_of(rank), all, position, received: Arc::clone(&received) };
        let (sender, requests) = mpsc::channel();
        let serve = move || heartbeat.serve(&requests);
        let thread = Builder::new().name("store".to_owned()).spawn(serve)?;
        let (requests, thread) = (Some(sender), Some(thread));
        Ok(Self { received, patience, requests, is_silent: Cell::new(false), thread })
    }

    /// The last heartbeat of each rank.
    pub(super) fn seen(&self) -> Vec<Option<LastHeartbeat>> {
        locked(&self.received.beats).clone()
    }

    /// Whether the store has stopped answering although the connection is open: a machine is cut off.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent.get()
    }

    /// Runs a request on the thread and waits for the answer.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Store) -> Result<T, TorchError> + Send + 'static,
    ) -> Result<T, TorchError> {
        let gone = || TorchError::new("TCPStore: the connection to the store of the ranks is lost");
        if self.is_silent() {
            return Err(gone());
        }
        let (sender, answer) = mpsc::sync_channel(1);
        let request: Request = Box::new(move |store| {
            let _ = sender.send(question(store));
        });
        let sent = self.requests.as_ref().is_some_and(|requests| requests.send(request).is_ok());
        // Heartbeats that the store has not answered have waited already.
        let waited = locked(&self.received.answer).elapsed().saturating_sub(PERIOD);
        match answer.recv_timeout(ANSWER.saturating_sub(waited).max(self.patience)) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) if sent => {
                self.is_silent.set(true);
                Err(TorchError::new("TCPStore: the store of the ranks does not respond"))
            }
            Err(_) => Err(gone()),
        }
    }
}

impl Drop for StoreClient {
    fn drop(&mut self) {
        self.requests = None;
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + END;
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Heartbeat {
    /// Serves requests and sends heartbeats between them, until the client is dropped or the store is lost.
    fn serve(&self, requests: &Receiver<Request>) {
        let mut next = Instant::now();
        for count in 1_u64.. {
            // The heartbeats received so far remain readable.
            if self.beat(count).is_err() {
                return;
            }
            next += PERIOD;
            loop {
                let left = next.saturating_duration_since(Instant::now());
                match requests.recv_timeout(left) {
                    Ok(request) => {
                        request(&self.store);
                        self.answered();
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        }
    }

    fn answered(&self) {
        *locked(&self.received.answer) = Instant::now();
    }

    fn beat(&self, count: u64) -> Result<(), TorchError> {
        self.store.set(&self.own, format!("{count} {}", self.position.describe()).as_bytes())?;
        let beats = self.store.get_all(&self.all)?;
        self.answered();
        let mut seen = locked(&self.received.beats);
        for (seen, beat) in seen.iter_mut().zip(beats) {
            let beat = String::from_utf8_lossy(&beat).into_owned();
            if seen.as_ref().is_none_or(|seen| seen.beat != beat) {
                *seen = Some(LastHeartbeat { beat, at: Instant::now() });
            }
        }
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The key of a rank's heartbeat.
pub(super) fn beat_of(rank: usize) -> String {
    format!("beat/{rank}")
}

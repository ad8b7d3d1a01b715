//! A thread that publishes the position of this rank and records that of the others, to find the silent rank when a collective fails.

use super::position::Position;
use crate::torch::TorchError;
use crate::torch::dist::Store;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How often a rank publishes its position and reads those of the others.
pub(super) const PERIOD: Duration = Duration::from_millis(500);

/// The last heartbeat of a rank.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Its text: a count and a position.
    pub(super) beat: String,
    /// When it last changed.
    pub(super) at: Instant,
}

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Heartbeat {
    seen: Arc<Mutex<Vec<Option<Seen>>>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn start(
        store: Store,
        rank: usize,
        world: usize,
        position: Arc<Position>,
    ) -> std::io::Result<Self> {
        let seen = Arc::new(Mutex::new(vec![None; world]));
        let ends = Arc::new(AtomicBool::new(false));
        let (all, end) = (Arc::clone(&seen), Arc::clone(&ends));
        let beat = move || {
            let mut count = 0_u64;
            while !end.load(Ordering::Relaxed) {
                count += 1;
                let told = format!("{count} {}", position.describe());
                if tell(&store, rank, &told).and_then(|()| read(&store, &all)).is_err() {
                    // The store is gone: keep what was read last.
                    return;
                }
                std::thread::park_timeout(PERIOD);
            }
        };
        let thread = Builder::new().name("heartbeat".to_owned()).spawn(beat)?;
        Ok(Self { seen, ends, thread: Some(thread) })
    }

    /// The last heartbeat of each rank.
    pub(super) fn seen(&self) -> Vec<Option<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn tell(store: &Store, rank: usize, told: &str) -> Result<(), TorchError> {
    store.set(&format!("beat/{rank}"), told.as_bytes())
}

fn read(store: &Store, all: &Mutex<Vec<Option<Seen>>>) -> Result<(), TorchError> {
    let count = all.lock().unwrap_or_else(PoisonError::into_inner).len();
    for rank in 0..count {
        let Some(beat) = store.get(&format!("beat/{rank}"))? else { continue };
        let beat = String::from_utf8_lossy(&beat).into_owned();
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        if all[rank].as_ref().is_none_or(|seen| seen.beat != beat) {
            all[rank] = Some(Seen { beat, at: Instant::now() });
        }
    }
    Ok(())
}

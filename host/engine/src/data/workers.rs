//! Threads that prepare batches in advance: a bounded number, returned in order. They end with the loader.
//!
//! Batches are numbered through all epochs, so that workers do not wait at the end of one. The training thread prepares a batch that no
//! thread has begun: on a busy machine a thread may be woken long after it was told to.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::collate::Filled;
use super::loader::{BatchMaker, LoaderSettings};
use super::sampler::Sampler;
use crate::error::{EngineError, Result};

/// The threads of a loader.
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Batches in an epoch.
    batches: u64,
    /// Whether the first batches of the next epoch are made in this one.
    is_endless: bool,
}

/// What the threads and the loader share.
struct Shared {
    state: Mutex<State>,
    /// Signals that there is work.
    work: Condvar,
    /// Signals that a batch is ready.
    made: Condvar,
}

struct State {
    /// Incremented by a seek: batches prepared before it are discarded.
    round: u64,
    /// The next batch to prepare, the next one to return, and the first one that is not needed.
    to_make: u64,
    to_give: u64,
    end: u64,
    /// Batch `n` waits at index `n % prefetch`.
    ready: Vec<Option<Result<Filled>>>,
    is_over: bool,
}

impl State {
    /// The next batch to prepare, unless the prefetch limit is reached.
    fn task(&mut self) -> Option<Task> {
        let ahead = self.to_make - self.to_give;
        if self.to_make >= self.end || ahead >= self.ready.len() as u64 {
            return None;
        }
        let task = Task { round: self.round, serial: self.to_make };
        self.to_make += 1;
        Some(task)
    }

    /// Whether to wake sleeping threads. Not for each batch: waking is a system call.
    fn is_half_empty(&self) -> bool {
        self.to_make - self.to_give <= self.ready.len() as u64 / 2
    }

    fn place(&mut self, serial: u64) -> &mut Option<Result<Filled>> {
        let room = self.ready.len() as u64;
        #[expect(clippy::cast_possible_truncation, reason = "below `room`, which is a usize")]
        let place = (serial % room) as usize;
        &mut self.ready[place]
    }
}

struct Task {
    round: u64,
    serial: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a task; `None` when the loader is dropped.
    fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(task) = state.task() {
                return Some(task);
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn hand_in(&self, task: &Task, made: Result<Filled>) {
        let mut state = self.lock();
        if state.round == task.round {
            *state.place(task.serial) = Some(made);
            // The woken thread takes the lock next.
            drop(state);
            self.made.notify_one();
        }
    }
}

impl Workers {
    /// Starts the threads; they wait for [`begin`](Self::begin).
    pub(super) fn start(
        maker: &Arc<BatchMaker>,
        walk: (&Sampler, u64),
        settings: &LoaderSettings,
    ) -> Result<Self> {
        let (count, (sampler, batches)) = (settings.workers, walk);
        let state = State {
            round: 0,
            to_make: 0,
            to_give: 0,
            end: 0,
            ready: (0..settings.prefetch.max(1)).map(|_| None).collect(),
            is_over: false,
        };
        let (work, made) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { state: Mutex::new(state), work, made });
        let threads = Vec::with_capacity(count);
        let mut workers = Self { shared, threads, batches, is_endless: settings.endless };
        for number in 0..count {
            let (shared, maker) = (Arc::clone(&workers.shared), Arc::clone(maker));
            let sampler = sampler.clone();
            let thread = Builder::new()
                .name(format!("data-{number}"))
                .spawn(move || serve(&shared, &maker, &sampler, batches));
            let thread = thread.map_err(|error| {
                EngineError::Data(format!("could not start threads for workers = {count}: {error}"))
            })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Seeks to a batch of an epoch. Prefetched batches are discarded, unless they are the next ones.
    pub(super) fn begin(&self, epoch: u64, position: u64) {
        let mut state = self.shared.lock();
        let first = epoch.saturating_mul(self.batches);
        let here = first.saturating_add(position);
        state.end = if self.is_endless { u64::MAX } else { first.saturating_add(self.batches) };
        if here != state.to_give {
            state.round += 1;
            (state.to_make, state.to_give) = (here, here);
            state.ready.iter_mut().for_each(|place| *place = None);
        }
        self.shared.work.notify_all();
    }

    /// Waits for the next batch; `None` if no thread has begun it, and the caller must prepare it. It must not request more than
    /// there are.
    pub(super) fn next(&self) -> Option<Result<Filled>> {
        let mut state = self.shared.lock();
        loop {
            let serial = state.to_give;
            let made = state.place(serial).take();
            if made.is_some() || state.to_make == serial {
                state.to_give += 1;
                state.to_make = state.to_make.max(state.to_give);
                if state.is_half_empty() {
                    self.shared.work.notify_all();
                }
                return made;
            }
            state = self.shared.made.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::warn!("a loader thread panicked");
            }
        }
    }
}

/// The body of a thread. It fills memory and never calls libtorch.
fn serve(shared: &Shared, maker: &BatchMaker, sampler: &Sampler, batches: u64) {
    let mut scratch = maker.scratch();
    while let Some(task) = shared.next_task() {
        let (epoch, number) = (task.serial / batches, task.serial % batches);
        // A panic must not leave the training thread waiting.
        let made =
            guarded(number, || maker.make(&sampler.order(epoch), epoch, number, &mut scratch));
        shared.hand_in(&task, made);
    }
}

/// Prepares a batch; a panic is an error, whichever thread it is on.
pub(super) fn guarded(number: u64, make: impl FnOnce() -> Result<Filled>) -> Result<Filled> {
    catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
        let why = format!("preparing batch {number} panicked: {}", text(&*panic));
        Err(EngineError::Data(why))
    })
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

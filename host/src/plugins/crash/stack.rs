//! The stack of a thread as addresses: of the one that crashed, and of the training thread while it does not return.

use super::modules::Frame;
use super::signals::set_handler;
use super::{Prepared, prepared};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many frames are kept.
pub(super) const MOST: usize = 64;

/// The id of the training thread; 0 before there is one.
static TRAINING: AtomicI32 = AtomicI32::new(0);
/// The frames of the training thread, as last requested, and how many; `PENDING` during a request.
static FRAMES: [AtomicPtr<c_void>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);
const PENDING: usize = usize::MAX;

/// How long the thread has to answer: it does as soon as it runs.
const PATIENCE: Duration = Duration::from_secs(2);

/// Prepares everything that a later call from a handler would otherwise allocate or load; the calling thread is the training thread.
pub(super) fn prepare() {
    // The first call loads the unwinder.
    let _ = addresses(&mut [ptr::null_mut(); 4]);
    // SAFETY: asks for a number.
    TRAINING.store(unsafe { libc::gettid() }, Ordering::Relaxed);
    let flags = libc::SA_RESTART | libc::SA_ONSTACK;
    set_handler(question(), on_question as *const () as usize, flags);
}

/// The signal that asks the training thread for its stack: one that nobody else uses, as glibc's own are below.
fn question() -> c_int {
    libc::SIGRTMIN() + 7
}

/// Fills `frames` with the calling thread's return addresses, the innermost first; returns how many there are.
pub(super) fn addresses(frames: &mut [*mut c_void]) -> usize {
    let room = c_int::try_from(frames.len()).unwrap_or(c_int::MAX);
    // SAFETY: there is room for that many addresses.
    let count = unsafe { libc::backtrace(frames.as_mut_ptr(), room) };
    usize::try_from(count).unwrap_or(0)
}

/// The stack of the calling thread, from the frame at `first` on, if there is one: before it are those of a handler.
///
/// # Safety
/// The caller has begun a report, and does not use what an earlier call has returned.
pub(super) unsafe fn frames(prepared: &'static Prepared, first: Option<usize>) -> &'static [Frame] {
    let mut addresses = [ptr::null_mut(); MOST];
    let count = self::addresses(&mut addresses);
    // SAFETY: by the contract.
    let frames = unsafe { prepared.frames.get() };
    for (frame, address) in frames.iter_mut().zip(&addresses[..count]) {
        *frame = Frame::at(address.expose_provenance(), &prepared.modules);
    }
    let first = addresses[..count].iter().position(|at| Some(at.addr()) == first);
    &frames[first.unwrap_or(0)..count]
}

/// Whether the calling thread is the training thread.
pub(super) fn is_training_thread() -> bool {
    // SAFETY: asks for a number.
    TRAINING.load(Ordering::Relaxed) == unsafe { libc::gettid() }
}

extern "C" fn on_question(_signal: c_int) {
    let mut frames = [ptr::null_mut(); MOST];
    let count = addresses(&mut frames);
    for (slot, frame) in FRAMES.iter().zip(frames) {
        slot.store(frame, Ordering::Relaxed);
    }
    COUNT.store(count, Ordering::Release);
}

/// The stack of the training thread, from the frame that was interrupted outwards; empty if it does not answer. Call it from another thread.
pub fn training_stack() -> Vec<Frame> {
    let (thread, Some(prepared)) = (TRAINING.load(Ordering::Relaxed), prepared()) else {
        return Vec::new();
    };
    COUNT.store(PENDING, Ordering::Release);
    // SAFETY: sends a signal to a thread of this process, which has a handler for it.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, question()) };
    let asked = Instant::now();
    while COUNT.load(Ordering::Acquire) == PENDING {
        if asked.elapsed() > PATIENCE {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let frames = FRAMES.iter().take(COUNT.load(Ordering::Acquire));
    // The handler's own frame, and that of the system's return from it.
    let frames = frames.skip(2).map(|frame| frame.load(Ordering::Relaxed).expose_provenance());
    frames.map(|address| Frame::at(address, &prepared.modules)).collect()
}

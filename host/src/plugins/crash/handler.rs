//! The handler of signals that end the process.

use super::modules::Frame;
use super::report::{self, CrashInfo};
use super::{prepared, stack};
use libc::siginfo_t;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

const FATAL: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
];

/// The handler's stack: a report is put together on it, and the stack of a thread that has overflowed is of no use.
const STACK: usize = 256 << 10;

/// How far below the stack pointer an access still counts as one to the stack.
const NEAR: usize = 64 << 10;

/// Whether a report is being written: only the first crash is one.
static REPORTING: AtomicBool = AtomicBool::new(false);

/// Installs the handler, and a stack for it on the calling thread. Threads without one of their own use their normal stack.
pub(super) fn install() {
    let memory: &'static mut [u8] = Box::leak(vec![0; STACK].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
    // SAFETY: the memory is never freed.
    unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    for (signal, _) in FATAL {
        // SAFETY: `action` is whole, and the handler keeps to what is allowed in one.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fatal as *const () as usize;
            // A crash within the handler has the default action.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

extern "C" fn on_fatal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    if !REPORTING.swap(true, Ordering::SeqCst) {
        // SAFETY: the system passes both.
        unsafe { report_crash(signal, info, context) };
    }
    // SAFETY: both are allowed in a handler. The signal is blocked until this returns, and then has its default action.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// # Safety
/// `info` and `context` are those of a handler.
unsafe fn report_crash(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(prepared) = prepared() else { return };
    // A report that never ends must not keep the process alive.
    // SAFETY: allowed in a handler; the default action of SIGALRM ends the process.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(10);
    }
    // SAFETY: by the contract.
    let (registers, is_fault) = unsafe { (Registers::of(context), (*info).si_code > 0) };
    // SAFETY: the address is read only where the signal has one.
    let address = is_fault.then(|| unsafe { (*info).si_addr() }.expose_provenance());
    let is_overflow = signal == libc::SIGSEGV
        && address.zip(registers.stack).is_some_and(|(address, stack)| {
            (stack.wrapping_sub(NEAR)..stack.wrapping_add(NEAR)).contains(&address)
        });
    let name = FATAL.iter().find(|(number, _)| *number == signal).map_or("a signal", |it| it.1);
    let mut crash = CrashInfo {
        what: if is_overflow { "SIGSEGV (stack overflow)" } else { name },
        address,
        instruction: registers.instruction.map(|at| Frame::at(at, &prepared.modules)),
        on_training_thread: stack::is_training_thread(),
        frames: &[],
    };
    // Unwinding the stack may fail in this state, so the report is first written without it.
    report::write(prepared, &crash);
    let mut addresses = [ptr::null_mut(); stack::MOST];
    let count = stack::addresses(&mut addresses);
    let frames = addresses.map(|at| Frame::at(at.expose_provenance(), &prepared.modules));
    // From the frame that was interrupted on: before it are those of this handler.
    let is_crash = |frame: &Frame| {
        crash.instruction.is_some_and(|at| at.offset == frame.offset && at.name() == frame.name())
    };
    let first = frames[..count].iter().position(is_crash).unwrap_or(0);
    crash.frames = &frames[first..count];
    report::write(prepared, &crash);
    report::say(prepared, &crash);
}

/// Where a thread was when it was interrupted.
struct Registers {
    instruction: Option<usize>,
    stack: Option<usize>,
}

impl Registers {
    /// # Safety
    /// `context` is that of a handler.
    #[cfg(target_arch = "x86_64")]
    unsafe fn of(context: *mut c_void) -> Self {
        // SAFETY: by the contract.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let read = |number: c_int| {
            let value = registers.get(usize::try_from(number).ok()?)?;
            Some(usize::from_ne_bytes(value.to_ne_bytes()))
        };
        Self { instruction: read(libc::REG_RIP), stack: read(libc::REG_RSP) }
    }

    /// # Safety
    /// `context` is that of a handler.
    #[cfg(target_arch = "aarch64")]
    unsafe fn of(context: *mut c_void) -> Self {
        // SAFETY: by the contract.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        let read = |value: u64| usize::try_from(value).ok();
        Self { instruction: read(registers.pc), stack: read(registers.sp) }
    }

    /// # Safety
    /// None: nothing is read.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    unsafe fn of(_context: *mut c_void) -> Self {
        Self { instruction: None, stack: None }
    }
}

//! The handler of signals that end the process.

use super::modules::Frame;
use super::report::{self, CrashInfo};
use super::signals::{action, set_handler};
use super::{Prepared, begin_report, prepared, stack};
use libc::siginfo_t;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

const FATAL: [(c_int, &str); 7] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGSYS, "SIGSYS"),
];

/// They end a process too, but say nothing about it if another process has sent them. Not here: those by which people and systems end a run.
const OWN: [(c_int, &str); 5] = [
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGVTALRM, "SIGVTALRM"),
    (libc::SIGPROF, "SIGPROF"),
    (libc::SIGPOLL, "SIGPOLL"),
    (libc::SIGUSR2, "SIGUSR2"),
];

/// The handler's stack: a report is put together on it, and the stack of a thread that has overflowed is of no use.
const STACK: usize = 256 << 10;

/// How far below the stack pointer an access is still one to the stack.
const NEAR: usize = 64 << 10;

/// The seconds after which a report that does not come to an end is cut short.
const PATIENCE: libc::c_uint = 10;

/// The signal that is being reported.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Installs the handlers, and a stack for them on the calling thread. Threads without one of their own use their normal stack.
pub(super) fn install() {
    let memory: &'static mut [u8] = Box::leak(vec![0; STACK].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
    // SAFETY: the memory is never freed.
    unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    // A crash within the handler has the default action.
    let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
    for (signal, _) in FATAL {
        set_handler(signal, on_fatal as *const () as usize, flags);
    }
    for (signal, _) in OWN.into_iter().filter(|(signal, _)| has_default_action(*signal)) {
        set_handler(signal, on_fatal as *const () as usize, flags);
    }
    // Beyond the limit for files, a write is an error of the run. Programs that are started have the default action again.
    set_handler(libc::SIGXFSZ, on_limit as *const () as usize, libc::SA_RESTART);
}

fn has_default_action(signal: c_int) -> bool {
    action(signal).is_none_or(|action| action.sa_sigaction == libc::SIG_DFL)
}

extern "C" fn on_limit(_signal: c_int) {}

extern "C" fn on_fatal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes both.
    if unsafe { is_of_this_process(signal, info) } {
        match prepared() {
            // SAFETY: as above; the report was begun here.
            Some(prepared) if begin_report() => unsafe {
                report_crash(prepared, signal, info, context);
            },
            // Another thread ends the process when its report is written.
            // SAFETY: allowed in a handler.
            Some(_) => _ = unsafe { libc::sleep(PATIENCE) },
            None => {}
        }
    }
    end(signal);
}

/// Ends the process by a signal.
fn end(signal: c_int) {
    // SAFETY: both are allowed in a handler.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    unblock(signal);
}

/// A signal is blocked while it is handled.
fn unblock(signal: c_int) {
    // SAFETY: all is allowed in a handler; the set is a C struct of numbers, which the second call makes whole.
    unsafe {
        let mut one: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut one);
        libc::sigaddset(&raw mut one, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const one, ptr::null_mut());
    }
}

/// Whether a signal tells of a crash here: another process may send any.
///
/// # Safety
/// `info` is that of a handler.
unsafe fn is_of_this_process(signal: c_int, info: *const siginfo_t) -> bool {
    let is_sent = |code| [libc::SI_USER, libc::SI_QUEUE, libc::SI_TKILL].contains(&code);
    // SAFETY: by the contract; who has sent it is known where it was sent.
    let (code, sender) = unsafe { ((*info).si_code, (*info).si_pid()) };
    let is_own = OWN.iter().any(|(number, _)| *number == signal);
    // SAFETY: asks for a number.
    !(is_own && is_sent(code)) || sender == unsafe { libc::getpid() }
}

/// # Safety
/// `info` and `context` are those of a handler, which has begun the report and does not return.
unsafe fn report_crash(
    prepared: &'static Prepared,
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: by the contract.
    let (registers, code) = unsafe { (Registers::of(context), (*info).si_code) };
    let is_fault = code > 0 && FATAL.iter().any(|(number, _)| *number == signal);
    // SAFETY: the address is read only where the signal has one.
    let address = is_fault.then(|| unsafe { (*info).si_addr() }.expose_provenance());
    let is_overflow = signal == libc::SIGSEGV
        && address.zip(registers.stack).is_some_and(|(address, stack)| {
            (stack.wrapping_sub(NEAR)..stack.wrapping_add(NEAR)).contains(&address)
        });
    let named = FATAL.iter().chain(&OWN).find(|(number, _)| *number == signal);
    let name = named.map_or("a signal", |it| it.1);
    let crash = CrashInfo {
        what: if is_overflow { "SIGSEGV (stack overflow)" } else { name },
        address,
        instruction: registers.instruction.map(|at| Frame::at(at, &prepared.modules)),
        on_training_thread: stack::is_training_thread(),
        frames: &[],
    };
    // SAFETY: by the contract.
    unsafe {
        report::write(prepared, &crash);
        // Finding the stack may crash or hang in a process in this state: then what is known without it is told.
        *prepared.known.get() = Some(crash);
        watch_over_report(signal);
        let has_jumped = crash.instruction.is_some_and(|at| at.module.is_none());
        let first = if has_jumped { return_to_caller(context) } else { registers.instruction };
        let crash = CrashInfo { frames: stack::frames(prepared, first), ..crash };
        report::write(prepared, &crash);
        report::say(prepared, &crash);
    }
}

/// From here on a second crash, or a handler that hangs, ends the report as it is.
fn watch_over_report(signal: c_int) {
    SIGNAL.store(signal, Ordering::SeqCst);
    for second in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGABRT, libc::SIGALRM] {
        set_handler(second, on_second as *const () as usize, libc::SA_ONSTACK | libc::SA_RESETHAND);
        unblock(second);
    }
    // SAFETY: allowed in a handler.
    unsafe { libc::alarm(PATIENCE) };
}

extern "C" fn on_second(_signal: c_int) {
    if let Some(prepared) = prepared() {
        // SAFETY: the report was begun by the handler of the first crash, which does not go on.
        let known = unsafe { prepared.known.get() }.take();
        if let Some(known) = known {
            report::say(prepared, &known);
        }
    }
    end(SIGNAL.load(Ordering::SeqCst));
}

/// After a jump to where there is no code: goes back to the caller, from which the stack can be found. Returns where that is.
///
/// # Safety
/// `context` is that of a handler which does not return. A stack pointer that is wrong leads to a second crash.
#[cfg(target_arch = "x86_64")]
unsafe fn return_to_caller(context: *mut c_void) -> Option<usize> {
    // SAFETY: by the contract; the call has left the address to return to where the stack pointer is.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let [instruction, stack] =
            [libc::REG_RIP, libc::REG_RSP].map(|it| usize::try_from(it).ok());
        let (instruction, stack) = (instruction?, stack?);
        let top = usize::try_from(registers[stack]).ok()?;
        registers[instruction] = ptr::with_exposed_provenance::<i64>(top).read();
        registers[stack] += 8;
        usize::try_from(registers[instruction]).ok()
    }
}

/// # Safety
/// As on x86_64.
#[cfg(target_arch = "aarch64")]
unsafe fn return_to_caller(context: *mut c_void) -> Option<usize> {
    // SAFETY: by the contract; the call has left the address to return to in the link register.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    registers.pc = registers.regs[30];
    usize::try_from(registers.pc).ok()
}

/// # Safety
/// None: nothing is done.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn return_to_caller(_context: *mut c_void) -> Option<usize> {
    None
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

//! Reports a crash caused by a plugin: `crash.json` in the run directory, and a line on standard error.
//!
//! [`watch`] installs handlers of the fatal signals and of `exit()`. Everything that they need is prepared before: a handler allocates nothing, takes no
//! lock and calls only what POSIX allows in one.

mod exit_guard;
mod fork;
mod handler;
mod loading;
mod modules;
mod report;
mod signals;
mod stack;
mod text;

pub use exit_guard::skip_destructors;
pub(super) use loading::Loading;
pub use modules::Frame;
pub use signals::SignalGuard;
pub use stack::training_stack;

use modules::Module;
use report::{CrashInfo, ReportText};
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::{fs, ptr};

/// The name of the file in a run directory.
pub const FILE: &str = "crash.json";

/// What the handlers work with. Its memory for a report is not on the stack, because some threads have only a few KiB for handlers.
struct Prepared {
    /// Where the report goes; empty if only standard error has it.
    path: CString,
    /// The libraries of the process, by address.
    modules: Vec<Module>,
    /// The stack of the report that is being written.
    frames: Cell<[Frame; stack::MOST]>,
    /// Its text.
    text: Cell<ReportText>,
    /// What was known before the stack was.
    known: Cell<Option<CrashInfo>>,
}

/// Memory of the one thread that has [begun](begin_report) a report.
struct Cell<T>(UnsafeCell<T>);

// SAFETY: `Cell::get` has one caller at a time.
unsafe impl<T> Sync for Cell<T> {}

impl<T> Cell<T> {
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// # Safety
    /// Only the thread that has begun a report may call it, and must not use what an earlier call has returned.
    #[expect(clippy::mut_from_ref, reason = "by the contract, there is one reference")]
    unsafe fn get(&self) -> &mut T {
        // SAFETY: by the contract.
        unsafe { &mut *self.0.get() }
    }
}

/// Whether a report is being written: only the first crash is one.
static IS_REPORTING: AtomicBool = AtomicBool::new(false);

/// Begins a report; false if there is another one.
fn begin_report() -> bool {
    !IS_REPORTING.swap(true, Ordering::SeqCst)
}

/// `None` while no run is in progress. It is never freed, because a handler may be reading it.
static PREPARED: AtomicPtr<Prepared> = AtomicPtr::new(ptr::null_mut());

fn prepared() -> Option<&'static Prepared> {
    // SAFETY: only leaked boxes are stored.
    unsafe { PREPARED.load(Ordering::Acquire).as_ref() }
}

/// Watches this process while it is alive; the calling thread is the training thread.
#[derive(Debug)]
pub struct CrashWatch(());

/// Installs the handlers; until [`CrashWatch::report_to`], a report is a line on standard error. Call it before data files are mapped: their handler of SIGBUS passes on what is not theirs.
pub fn watch() -> CrashWatch {
    stack::prepare();
    handler::install();
    exit_guard::install();
    fork::install();
    let watch = CrashWatch(());
    watch.report();
    watch
}

impl CrashWatch {
    /// Sets the file of the report, once the libraries are loaded and the run directory is known. A report of an earlier start is kept under another
    /// name: `crash.1.json`.
    pub fn report_to(&self, path: &Path) {
        set_aside(path);
        if let Ok(path) = CString::new(path.as_os_str().as_bytes()) {
            prepare(path);
        }
    }

    /// Reports on standard error alone, with the libraries that are loaded now: for a command without a run directory.
    pub fn report(&self) {
        prepare(CString::default());
    }
}

fn prepare(path: CString) {
    let prepared = Box::new(Prepared {
        path,
        modules: modules::mapped(),
        frames: Cell::new([Frame::UNKNOWN; stack::MOST]),
        text: Cell::new(ReportText::new()),
        known: Cell::new(None),
    });
    PREPARED.store(Box::leak(prepared), Ordering::Release);
}

impl Drop for CrashWatch {
    fn drop(&mut self) {
        PREPARED.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Renames a report, so that the next one does not replace it.
pub fn set_aside(path: &Path) {
    let names = (1_u32..).map(|number| path.with_extension(format!("{number}.json")));
    if let Some(aside) = names.into_iter().find(|aside| !aside.exists())
        && path.exists()
        && let Err(error) = fs::rename(path, aside)
    {
        tracing::warn!("could not rename {}: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_an_earlier_start_is_kept_under_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        for number in ["1", "2"] {
            fs::write(&path, number).unwrap();
            set_aside(&path);
            let aside = folder.path().join(format!("crash.{number}.json"));
            assert_eq!(fs::read_to_string(aside).unwrap(), number);
        }
        set_aside(&path);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

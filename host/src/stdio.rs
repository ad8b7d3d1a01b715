//! Standard output and standard error: a failed write never panics, and lost standard output is detected.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first failure of standard output.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Whether standard output was closed when the process was started.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Records whether standard output is closed. Must be called before Rust's runtime replaces it with `/dev/null`.
pub fn note_closed() {
    let descriptors = Path::new("/proc/self/fd");
    let is_open = |number: &str| descriptors.join(number).symlink_metadata().is_ok();
    CLOSED.store(descriptors.is_dir() && !is_open("1"), Ordering::Relaxed);
}

fn lost() -> MutexGuard<'static, Option<io::Error>> {
    LOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line to standard output. A failure is kept for [`outcome`]: a run continues without a console.
pub fn print_line(line: Arguments<'_>) {
    keep(writeln!(io::stdout(), "{line}"));
}

/// Prints bytes to standard output, as [`print_line`].
pub fn print_bytes(bytes: &[u8]) {
    keep(io::stdout().write_all(bytes));
}

/// As [`print_bytes`], and no buffer keeps them.
pub fn print_now(bytes: &[u8]) {
    let mut out = io::stdout();
    keep(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Prints a line to standard error; failures are ignored.
pub fn complain(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints bytes to standard error, as [`complain`].
pub fn complain_bytes(bytes: &[u8]) {
    let _ = io::stderr().write_all(bytes);
}

/// Whether everything printed so far was written. A closed pipe (`| head`) is not a failure.
pub fn outcome() -> io::Result<()> {
    keep(io::stdout().flush());
    if CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    let first = lost().take();
    match first {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Records the result of a write to standard output that was made elsewhere.
pub fn keep(written: io::Result<()>) {
    if let Err(error) = written {
        lost().get_or_insert(error);
    }
}

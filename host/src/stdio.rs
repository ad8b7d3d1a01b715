//! Standard output and standard error: what cannot be written there never panics, and what standard output lost is known.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first failure of standard output.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

fn lost() -> MutexGuard<'static, Option<io::Error>> {
    LOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line to standard output. A failure is kept for [`outcome`]: a run goes on without a console.
pub fn print_line(line: Arguments<'_>) {
    keep(writeln!(io::stdout(), "{line}"));
}

/// Prints bytes to standard output, as [`print_line`].
pub fn print_bytes(bytes: &[u8]) {
    keep(io::stdout().write_all(bytes));
}

/// Prints a line to standard error; there is nowhere to tell that it failed.
pub fn complain(line: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Whether all that was printed so far arrived. A reader that has gone away (`| head`) has what it wanted.
///
/// # Errors
/// The first failure.
pub fn outcome() -> io::Result<()> {
    keep(io::stdout().flush());
    let first = lost().take();
    match first {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn keep(written: io::Result<()>) {
    if let Err(error) = written {
        lost().get_or_insert(error);
    }
}

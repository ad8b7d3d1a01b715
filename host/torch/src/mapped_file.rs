//! A memory-mapped file: pages are read on access, nothing is copied, and a file that shrinks is an error instead of a crash.
//!
//! Reading beyond the end of a mapped file raises SIGBUS, which ends a process. A handler maps a page of zeros there
//! and records it; [`MappedFile::check`] returns the error, also if the file is shorter than when it was mapped.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};
use memmap2::Mmap;

/// A mapped file, read only.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    bytes: Mmap,
    range: &'static Range,
}

/// What happened to a mapped file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileDamage {
    /// It was truncated.
    Shortened {
        /// Bytes when it was mapped.
        from: u64,
        /// Bytes now.
        to: u64,
    },
    /// The system could not read a part of it.
    Unreadable,
}

impl std::fmt::Display for FileDamage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shortened { from, to } => {
                write!(out, "it was truncated from {from} to {to} bytes while in use")
            }
            Self::Unreadable => write!(out, "a part of it can no longer be read"),
        }
    }
}

impl MappedFile {
    /// Maps a file that is not empty.
    pub fn map(file: File) -> io::Result<Self> {
        listen();
        // SAFETY: read only and private to this process; the bytes have no meaning to the compiler, and every reader
        // takes them as untrusted input. What is missing in a file that shrinks is read as zeros, see `on_bus_error`.
        let bytes = unsafe { Mmap::map(&file) }?;
        let range = Range::enter(bytes.as_ptr() as usize, bytes.len());
        Ok(Self { file, bytes, range })
    }

    /// Whether everything read so far was in the file; reads its length once.
    ///
    /// # Errors
    /// The file was truncated or could not be read, and some of what was read may be zeros.
    pub fn check(&self) -> Result<(), FileDamage> {
        let from = self.bytes.len() as u64;
        match self.file.metadata() {
            Ok(facts) if facts.len() < from => Err(FileDamage::Shortened { from, to: facts.len() }),
            Ok(_) if !self.range.is_lost.load(Ordering::Acquire) => Ok(()),
            _ => Err(FileDamage::Unreadable),
        }
    }
}

impl Deref for MappedFile {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // Before the memory is released and may be reused.
        self.range.end.store(0, Ordering::Release);
    }
}

/// The address range of a mapped file. A signal handler reads it, so it consists of atomics and is never freed.
#[derive(Debug)]
struct Range {
    start: usize,
    // 0 once it is unmapped.
    end: AtomicUsize,
    is_lost: AtomicBool,
    next: *const Range,
}

// SAFETY: `next` is set before the range is shared, and leads to ranges that live as long as the process.
unsafe impl Sync for Range {}

static NEWEST: AtomicPtr<Range> = AtomicPtr::new(ptr::null_mut());
static PAGE: AtomicUsize = AtomicUsize::new(4096);

impl Range {
    fn enter(start: usize, length: usize) -> &'static Self {
        let mut next = NEWEST.load(Ordering::Acquire);
        let (end, is_lost) = (AtomicUsize::new(start + length), AtomicBool::new(false));
        let range = Box::leak(Box::new(Self { start, end, is_lost, next }));
        while let Err(newer) =
            NEWEST.compare_exchange(next, &raw mut *range, Ordering::AcqRel, Ordering::Acquire)
        {
            next = newer;
            range.next = newer;
        }
        range
    }

    /// The mapped file that contains an address. Safe in a signal handler: no locks, no allocation.
    fn around(address: usize) -> Option<&'static Self> {
        let mut next = NEWEST.load(Ordering::Acquire).cast_const();
        // SAFETY: null, or a range that was leaked in `enter`.
        while let Some(range) = unsafe { next.as_ref() } {
            if (range.start..range.end.load(Ordering::Acquire)).contains(&address) {
                return Some(range);
            }
            next = range.next;
        }
        None
    }
}

static mut BEFORE: libc::sigaction = const {
    // SAFETY: a C struct of numbers and pointers, for which zeros will do.
    unsafe { std::mem::zeroed() }
};

/// Installs the SIGBUS handler; once in a process.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Release);
        // SAFETY: `action` is whole; `BEFORE` is written here alone, once, before the handler can run.
        let done = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigaction(libc::SIGBUS, &raw const action, &raw mut BEFORE)
        };
        if done != 0 {
            tracing::warn!("no handler for SIGBUS: a data file that shrinks would end the process");
        }
    });
}

/// Maps zeros where a mapped file was truncated. Any other SIGBUS goes to the previous handler.
extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the system gives a valid `info`, and SIGBUS has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    if let Some(range) = Range::around(address) {
        range.is_lost.store(true, Ordering::Release);
        let page = PAGE.load(Ordering::Acquire);
        let (place, flags) = (address - address % page, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the page belongs to a mapping of ours that is in use, and that `MappedFile` gives back as a whole.
        let put = unsafe {
            let place = ptr::with_exposed_provenance_mut(place);
            libc::mmap(place, page, libc::PROT_READ, flags | libc::MAP_FIXED, -1, 0)
        };
        if put != libc::MAP_FAILED {
            return;
        }
    }
    // SAFETY: `BEFORE` was set before this handler was; both calls are allowed in a handler.
    unsafe {
        libc::sigaction(signal, &raw const BEFORE, ptr::null_mut());
        // A fault happens again at its own address; a signal that somebody sent does not.
        if (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(length: usize) -> (tempfile::NamedTempFile, MappedFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; length]).unwrap();
        let mapped = MappedFile::map(File::open(file.path()).unwrap()).unwrap();
        (file, mapped)
    }

    #[test]
    fn a_mapped_file_reads_like_the_file() {
        let (_file, mapped) = mapped(3);
        assert_eq!(&mapped[..], [7; 3]);
        assert_eq!(mapped.check(), Ok(()));
    }

    #[test]
    fn a_truncated_file_reads_as_zeros_and_is_reported() {
        let (file, mapped) = mapped(100_000);
        let (_other, whole) = self::mapped(100_000);
        file.as_file().set_len(5_000).unwrap();
        // The last page that is left is filled up with zeros by the system; those after it would be SIGBUS.
        assert_eq!((mapped[4_999], mapped[5_001], mapped[50_000], mapped[99_999]), (7, 0, 0, 0));
        let told = mapped.check().unwrap_err();
        assert_eq!(told, FileDamage::Shortened { from: 100_000, to: 5_000 });
        assert_eq!(told.to_string(), "it was truncated from 100000 to 5000 bytes while in use");
        assert_eq!((whole[99_999], whole.check()), (7, Ok(())));
        // Grown again: what was read is still wrong.
        file.as_file().set_len(100_000).unwrap();
        assert_eq!(mapped.check(), Err(FileDamage::Unreadable));
    }

    #[test]
    fn memory_of_an_unmapped_file_belongs_to_no_file() {
        let (_file, mapped) = mapped(10);
        let address = mapped.as_ptr() as usize;
        assert!(Range::around(address).is_some());
        drop(mapped);
        assert!(Range::around(address).is_none());
    }
}

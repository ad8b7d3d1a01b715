//! A file as memory: the kernel reads what is looked at, and nothing is copied.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file that is not empty, read only.
///
/// Whoever shortens the file meanwhile ends the process when the missing part is read; one who writes to it changes
/// what is read. Data of a run in progress is left alone.
pub fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: read only and private to this process; the bytes have no meaning to the compiler, and every reader
    // takes them as untrusted input. That the file is not shortened is the user's part, as said above.
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_reads_like_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"abc").unwrap();
        assert_eq!(&map(&File::open(file.path()).unwrap()).unwrap()[..], b"abc");
    }
}

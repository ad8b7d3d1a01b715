//! A file of records, each written completely or not at all; while the disk is full, records wait in memory.

use crate::run::RunDirError;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The maximum memory of records that wait for the disk.
const MOST: usize = 16 << 20;

/// The size from which waiting records are written.
const CHUNK: usize = 64 << 10;

/// How long to wait before each further attempt at the end of a run.
const LAST_ATTEMPTS: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_millis(750)];

/// A file, or a fake one in tests.
pub(super) trait Disk: Write {
    /// Truncates it to a length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Disk for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// Whole records that wait to be written.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    records: u64,
}

/// A file that records are appended to.
///
/// A failed write is not an error for the caller: the partial write is truncated, and the records wait for the
/// next attempt. [`Self::settle`] is for callers that depend on them, [`Self::finish`] for the end of the run.
pub(super) struct RecordFile<D = File> {
    path: PathBuf,
    disk: D,
    // The end of the last whole record.
    end: u64,
    // Whether a partial record follows it.
    torn: bool,
    waiting: VecDeque<Chunk>,
    // Whether the last attempt failed, which was reported then.
    failing: bool,
    lost: u64,
}

impl RecordFile {
    /// A file that is open for appending.
    pub(super) fn new(path: &Path, file: File) -> Result<Self, RunDirError> {
        let end = file.metadata().map_err(RunDirError::io("inspect", path))?.len();
        Ok(Self::on(path, file, end))
    }

    /// The file itself, to sync it.
    pub(super) fn file(&self) -> (&Path, &File) {
        (&self.path, &self.disk)
    }
}

impl<D: Disk> RecordFile<D> {
    fn on(path: &Path, disk: D, end: u64) -> Self {
        let (path, waiting) = (path.to_owned(), VecDeque::new());
        Self { path, disk, end, torn: false, waiting, failing: false, lost: 0 }
    }

    /// Where the file is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds records; they are written with the next flush.
    pub(super) fn push(&mut self, bytes: &[u8], records: u64) {
        let waiting: usize = self.waiting.iter().map(|chunk| chunk.bytes.len()).sum();
        if waiting + bytes.len() > MOST {
            if self.lost == 0 {
                let path = self.path.display();
                tracing::error!(
                    "{path}: too many records are waiting for the disk; later ones are lost"
                );
            }
            self.lost += records;
            return;
        }
        if self.waiting.back().is_none_or(|last| last.bytes.len() + bytes.len() > CHUNK) {
            self.waiting.push_back(Chunk::default());
        }
        if let Some(last) = self.waiting.back_mut() {
            last.bytes.extend_from_slice(bytes);
            last.records += records;
        }
        if waiting > CHUNK && !self.failing {
            self.flush();
        }
    }

    /// Writes waiting records as far as possible.
    pub(super) fn flush(&mut self) {
        // The failure was reported; the write is retried later.
        _ = self.attempt();
    }

    /// Writes waiting records; warns when the disk does not accept them, and when it does again.
    fn attempt(&mut self) -> io::Result<()> {
        let waited = self.waiting_records();
        let written = self.drain();
        let path = self.path.display();
        match (&written, self.failing) {
            (Ok(()), true) => {
                tracing::warn!(
                    "{path} can be written again: {waited} waiting records were written to it"
                );
            }
            (Err(why), false) => {
                tracing::warn!(
                    "could not write {path}: {why}; records are kept in memory until it can be written"
                );
            }
            (Ok(()), false) | (Err(_), true) => {}
        }
        self.failing = written.is_err();
        written
    }

    fn waiting_records(&self) -> u64 {
        self.waiting.iter().map(|chunk| chunk.records).sum()
    }

    fn drain(&mut self) -> io::Result<()> {
        self.truncate_partial()?;
        while let Some(chunk) = self.waiting.front() {
            // A single write for everything, so that a kill leaves at most one partial record.
            if let Err(error) = self.disk.write_all(&chunk.bytes) {
                self.torn = true;
                // Retried before the next write.
                _ = self.truncate_partial();
                return Err(error);
            }
            self.end += chunk.bytes.len() as u64;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// Truncates a partial record.
    fn truncate_partial(&mut self) -> io::Result<()> {
        if self.torn {
            self.disk.cut(self.end)?;
            self.torn = false;
        }
        Ok(())
    }

    /// The end of the last record, once all of them are written.
    pub(super) fn settle(&mut self) -> Result<u64, RunDirError> {
        self.attempt().map_err(RunDirError::io("write", &self.path))?;
        Ok(self.end)
    }

    /// Truncates the file to `length` bytes and drops waiting records; returns how many bytes are missing.
    pub(super) fn rewind(&mut self, length: u64) -> Result<u64, RunDirError> {
        let end = self.end.min(length);
        self.disk.cut(end).map_err(RunDirError::io("shorten", &self.path))?;
        self.waiting.clear();
        (self.end, self.torn) = (end, false);
        Ok(length - end)
    }

    /// Writes the remaining records, retrying for a while.
    ///
    /// # Errors
    /// Records of the run are not in the file.
    pub(super) fn finish(&mut self) -> Result<(), RunDirError> {
        let mut written = self.attempt();
        for pause in LAST_ATTEMPTS {
            if written.is_ok() {
                break;
            }
            std::thread::sleep(pause);
            written = self.attempt();
        }
        let count = self.waiting_records() + self.lost;
        let why = match written {
            Ok(()) if count == 0 => return Ok(()),
            Ok(()) => "too many were waiting for the disk".to_owned(),
            Err(why) => why.to_string(),
        };
        Err(RunDirError::RecordsLost { path: self.path.clone(), count, why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A disk with room for this many bytes.
    #[derive(Clone, Default)]
    struct Small(Rc<RefCell<(Vec<u8>, usize)>>);

    impl Small {
        fn with(room: usize) -> Self {
            let disk = Self::default();
            disk.grow(room);
            disk
        }
        fn grow(&self, room: usize) {
            self.0.borrow_mut().1 = room;
        }
        fn text(&self) -> String {
            String::from_utf8(self.0.borrow().0.clone()).unwrap()
        }
    }

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = self.0.borrow_mut();
            let free = disk.1.saturating_sub(disk.0.len()).min(bytes.len());
            if free == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            disk.0.extend_from_slice(&bytes[..free]);
            Ok(free)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Disk for Small {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.0.borrow_mut().0.truncate(usize::try_from(length).unwrap());
            Ok(())
        }
    }

    fn file(room: usize) -> (Small, RecordFile<Small>) {
        let disk = Small::with(room);
        (disk.clone(), RecordFile::on(Path::new("records"), disk, 0))
    }

    #[test]
    fn a_record_that_does_not_fit_is_cut_off_and_written_when_there_is_room() {
        let (disk, mut file) = file(10);
        for record in ["one\n", "two\n", "three\n", "four\n"] {
            file.push(record.as_bytes(), 1);
            file.flush();
        }
        assert_eq!(disk.text(), "one\ntwo\n");
        assert!(file.settle().unwrap_err().to_string().contains("could not write records"));
        assert_eq!(disk.text(), "one\ntwo\n", "a line is whole or absent");
        disk.grow(100);
        file.push(b"five\n", 1);
        file.flush();
        assert_eq!(disk.text(), "one\ntwo\nthree\nfour\nfive\n");
        assert_eq!(file.settle().unwrap(), 24);
        file.finish().unwrap();
    }

    #[test]
    fn what_is_pushed_waits_for_the_next_flush() {
        let (disk, mut file) = file(100);
        file.push(b"one\n", 1);
        assert_eq!(disk.text(), "");
        file.flush();
        assert_eq!(disk.text(), "one\n");
    }

    #[test]
    fn memory_for_what_waits_is_bounded_and_what_is_lost_is_counted() {
        let (disk, mut file) = file(0);
        let record = vec![b'x'; 1 << 20];
        for _ in 0..20 {
            file.push(&record, 1);
            file.flush();
        }
        disk.grow(usize::MAX);
        let error = file.finish().unwrap_err().to_string();
        assert!(error.starts_with("4 records of the run are not in records: "), "{error}");
        assert_eq!(disk.text().len(), 16 << 20);
    }

    #[test]
    fn a_file_goes_back_to_a_record_that_it_had() {
        let (disk, mut file) = file(100);
        file.push(b"one\ntwo\n", 2);
        file.flush();
        file.push(b"three\n", 1);
        assert_eq!(file.rewind(4).unwrap(), 0);
        assert_eq!((disk.text().as_str(), file.settle().unwrap()), ("one\n", 4));
        assert_eq!(file.rewind(9).unwrap(), 5, "so much is missing");
    }
}

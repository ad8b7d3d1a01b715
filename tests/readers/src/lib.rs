//! Every reader of external files, with good files for it to start from: declared here once, for the fuzz tests of the suite and for the targets
//! of cargo-fuzz in `fuzz/`.
//!
//! A reader must return a value or an error for any input. A panic is a finding, and so is a wrong value: a reader asserts what must be true of
//! the inputs that it accepts.

#![expect(clippy::unwrap_used, reason = "a reader that cannot be prepared fails its test")]

mod config;
mod data;
mod plugins;
mod run;

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A reader of external files.
#[derive(Clone, Copy)]
pub struct Reader {
    /// The name of its target, and of its folder in `tests/fixtures/fuzz/`.
    pub name: &'static str,
    make: fn(Folder) -> Prepared,
}

/// Gives a reader an input; an error is what the user would see.
type Read = Box<dyn Fn(&[u8]) -> Result<(), String>>;

/// A reader that can be called.
pub struct Prepared {
    /// Good inputs, at least one of which it accepts.
    pub seeds: Vec<Vec<u8>>,
    /// Reads an input.
    pub read: Read,
}

/// All readers, by what they belong to.
pub const GROUPS: [(&str, &[Reader]); 4] = [
    ("config", config::READERS),
    ("data", data::READERS),
    ("plugins", plugins::READERS),
    ("run", run::READERS),
];

/// The reader of this name.
pub fn reader(name: &str) -> Option<Reader> {
    all().find(|reader| reader.name == name)
}

/// All readers.
pub fn all() -> impl Iterator<Item = Reader> {
    GROUPS.iter().flat_map(|(_, readers)| readers.iter().copied())
}

impl Reader {
    /// Makes the files that it needs beside its input.
    ///
    /// # Panics
    /// The files of the repository are not there, or no temporary folder can be made.
    pub fn prepare(self) -> Prepared {
        (self.make)(Folder::new())
    }

    /// The inputs that once made it fail.
    ///
    /// # Panics
    /// Their folder cannot be read.
    pub fn kept(self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(kept_in(self.name)) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// The folder with the inputs that once made a reader fail.
pub fn kept_in(name: &str) -> PathBuf {
    repository().join("tests/fixtures/fuzz").join(name)
}

/// The top of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// A file that is there only for the readers.
fn own_seed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name)
}

fn bytes(files: impl IntoIterator<Item = PathBuf>) -> Vec<Vec<u8>> {
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<Vec<u8>> {
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// A folder for an input and what lies beside it: in memory if the machine has a file system there, because every input is written to a file.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes the input.
    fn input(&self, bytes: &[u8]) -> PathBuf {
        self.write("input", bytes)
    }

    /// Copies a folder of the repository into this one.
    fn copy(&self, from: &Path, name: &str) -> PathBuf {
        let to = self.path(name);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let own = entry.file_name().into_string().unwrap();
            if entry.path().is_dir() {
                self.copy(&entry.path(), &format!("{name}/{own}"));
            } else {
                fs::copy(entry.path(), to.join(own)).unwrap();
            }
        }
        to
    }
}

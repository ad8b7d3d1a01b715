//! The data files of a run as they were at its start: a resume reports which were modified since.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use toml::Value;

/// Files by their paths.
pub type DataFiles = BTreeMap<String, FileState>;

/// Size and modification time of a file, which show that it was modified without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last written to: nanoseconds since 1970.
    pub written: u64,
}

impl FileState {
    /// `None` if there is no such file.
    fn of(path: &str) -> Option<Self> {
        let file = Path::new(path).metadata().ok().filter(std::fs::Metadata::is_file)?;
        let written = file.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(Self { bytes: file.len(), written: u64::try_from(written.as_nanos()).ok()? })
    }
}

/// The files that `[data]` of a resolved config names. The contents of folders are not examined.
pub fn of_config(config: &str) -> DataFiles {
    let config = config.parse::<toml::Table>().unwrap_or_default();
    let mut texts = Vec::new();
    config.get("data").into_iter().for_each(|data| gather(data, &mut texts));
    let paths = texts.into_iter().filter(|text| Path::new(text).is_absolute());
    paths.filter_map(|path| Some((path.to_owned(), FileState::of(path)?))).collect()
}

fn gather<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Table(table) => table.values().for_each(|value| gather(value, texts)),
        Value::Array(items) => items.iter().for_each(|value| gather(value, texts)),
        _ => {}
    }
}

/// The maximum number of bytes that are read to distinguish a file from another of the same size.
const READ: u64 = 4 << 20;
/// The number of blocks that are read of a longer file, spread evenly from its first to its last byte.
const BLOCKS: u64 = 64;
/// The maximum number of files of a folder that are compared.
const LISTED: usize = 64;

/// A fingerprint of the data that `[data]` of a resolved config names, by file name: the size and a digest of the
/// contents, sampled if a file is large. For a folder, its files.
pub fn fingerprints(config: &str) -> BTreeMap<String, Vec<String>> {
    let config = config.parse::<toml::Table>().unwrap_or_default();
    let mut texts = Vec::new();
    config.get("data").into_iter().for_each(|data| gather(data, &mut texts));
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for path in texts.into_iter().map(Path::new).filter(|path| path.is_absolute()) {
        for file in files_at(path) {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let found = fingerprint(&file).unwrap_or_else(|error| format!("unreadable: {error}"));
            all.entry(name).or_default().push(found);
        }
    }
    all
}

/// A file, or those of a folder in the order of their names.
fn files_at(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.chain([path.to_owned()]).filter(|it| it.is_file()).collect();
    files.sort();
    files.truncate(LISTED);
    files
}

fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut digest = Sha256::new();
    let block = READ / BLOCKS;
    let starts = if bytes <= READ { 0..1 } else { 0..BLOCKS };
    for index in starts.clone() {
        file.seek(SeekFrom::Start(bytes.saturating_sub(block) * index / (BLOCKS - 1)))?;
        let length = if starts.end == 1 { READ } else { block };
        let mut block = Vec::new();
        file.by_ref().take(length).read_to_end(&mut block)?;
        digest.update(&block);
    }
    let digest = digest.finalize();
    let start = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(format!("{bytes} bytes, digest {start:016x}"))
}

/// The files that differ: path, before, now.
pub fn changed(before: &DataFiles, now: &DataFiles) -> Vec<(String, String, String)> {
    let compare = |(path, now): (&String, &FileState)| {
        let before = before.get(path).filter(|before| *before != now)?;
        let then = if before.bytes == now.bytes { ", modified at another time" } else { "" };
        let (before, now) = (format!("{} bytes", before.bytes), format!("{} bytes", now.bytes));
        Some((path.clone(), before, now + then))
    };
    now.iter().filter_map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_of_the_same_length_are_distinguished_by_their_contents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.npy");
        let config = format!("[data.train]\ntype = \"Npy\"\npath = {path:?}\n");
        let in_folder = format!("[data.train]\ntype = \"IdxImages\"\ndir = {:?}\n", folder.path());
        for length in [5, usize::try_from(READ).unwrap() + 12_345] {
            let mut bytes = vec![7; length];
            fs::write(&path, &bytes).unwrap();
            let before = fingerprints(&config);
            assert_eq!(before["data.npy"].len(), 1, "{before:?}");
            assert_eq!(before, fingerprints(&config));
            assert_eq!(before, fingerprints(&in_folder));
            *bytes.last_mut().unwrap() = 8;
            fs::write(&path, &bytes).unwrap();
            assert_ne!(before, fingerprints(&config), "{length}");
        }
    }

    #[test]
    fn files_that_were_written_to_are_found_by_length_or_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["same", "longer", "overwritten"] {
            fs::write(path(name), "four").unwrap();
        }
        let config = format!(
            "[model]\nweights = {0:?}\n[data.train]\ntype = \"Npy\"\npaths = [{0:?}, {1:?}]\n[data.val]\npath = {2:?}\n\
             dir = {3:?}\n",
            path("same"),
            path("longer"),
            path("overwritten"),
            folder.path()
        );
        let before = of_config(&config);
        assert_eq!(before.len(), 3, "{before:?}");
        assert_eq!(changed(&before, &of_config(&config)), []);

        fs::write(path("longer"), "seven..").unwrap();
        fs::write(path("overwritten"), "abcd").unwrap();
        let file = File::options().write(true).open(path("overwritten")).unwrap();
        file.set_modified(UNIX_EPOCH).unwrap();
        let (four, seven) = ("4 bytes".to_owned(), "7 bytes".to_owned());
        let later = "4 bytes, modified at another time".to_owned();
        let wanted = [(path("longer"), four.clone(), seven), (path("overwritten"), four, later)];
        assert_eq!(changed(&before, &of_config(&config)), wanted);
        assert_eq!(changed(&DataFiles::default(), &of_config(&config)), [], "an older checkpoint");
    }
}

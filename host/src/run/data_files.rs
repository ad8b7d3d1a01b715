//! The data files of a run as they were at its start: a resume reports which were modified since.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
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

/// The texts in a value of a config.
pub(super) fn gather<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Table(table) => table.values().for_each(|value| gather(value, texts)),
        Value::Array(items) => items.iter().for_each(|value| gather(value, texts)),
        _ => {}
    }
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
    use std::fs::{self, File};

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

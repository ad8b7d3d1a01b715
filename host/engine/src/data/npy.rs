//! `Npy` and `Npz`: inputs and labels that NumPy saved, in two files or in one archive.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use hookrack_plugin_api::prelude::Settings;

use super::Dataset;
use super::array::Array;
use super::array_pair::ArrayPair;
use super::file_bytes::{FileBytes, most_unpacked, read_bounded, too_much};
use super::npy_file;
use crate::error::Result;
use crate::registry::Component;

/// Inputs and labels in two files of `numpy.save`, memory-mapped; uint8 inputs are scaled to 0..1, others stay as
/// they are.
#[derive(Debug, Clone, Settings)]
pub struct NpySettings {
    /// File of the inputs, `[samples, …]`.
    pub inputs: PathBuf,
    /// File of the labels: integers of shape `[samples]` are classes; others are regression targets.
    pub labels: PathBuf,
    /// Number of classes. Default: one more than the largest label.
    #[param(min = 1)]
    pub classes: Option<i64>,
    /// Label to ignore; it may be out of range. Default: that of the loss.
    pub ignore_index: Option<i64>,
}

impl Component<(), dyn Dataset> for NpySettings {
    const NAME: &'static str = "Npy";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        let inputs = npy_file::array(FileBytes::open(&self.inputs)?)?;
        let labels = npy_file::array(FileBytes::open(&self.labels)?)?;
        Ok(Box::new(ArrayPair::new(inputs, labels, self.classes, self.ignore_index)?))
    }
}

/// Inputs and labels in one file of `numpy.savez` or `savez_compressed`, loaded into memory; uint8 inputs are scaled
/// to 0..1.
#[derive(Debug, Clone, Settings)]
pub struct NpzSettings {
    /// The archive.
    pub path: PathBuf,
    /// Name of the inputs, `[samples, …]`.
    #[param(default = "x")]
    pub inputs: String,
    /// Name of the labels: integers of shape `[samples]` are classes; others are regression targets.
    #[param(default = "y")]
    pub labels: String,
    /// Number of classes. Default: one more than the largest label.
    #[param(min = 1)]
    pub classes: Option<i64>,
    /// Label to ignore; it may be out of range. Default: that of the loss.
    pub ignore_index: Option<i64>,
}

impl Component<(), dyn Dataset> for NpzSettings {
    const NAME: &'static str = "Npz";

    fn build(self, _context: &()) -> Result<Box<dyn Dataset>> {
        let file = FileBytes::open(&self.path)?;
        let (inputs, labels) = (member(&file, &self.inputs)?, member(&file, &self.labels)?);
        Ok(Box::new(ArrayPair::new(inputs, labels, self.classes, self.ignore_index)?))
    }
}

/// Whether a file begins as archives do.
pub(super) fn is_archive(file: &FileBytes) -> bool {
    file.starts_with(b"PK")
}

fn archive(file: &FileBytes) -> Result<zip::ZipArchive<Cursor<&[u8]>>> {
    zip::ZipArchive::new(Cursor::new(&file[..]))
        .map_err(|error| file.wrong(0, format!("not a NumPy archive ({error})")))
}

/// The names of an archive's arrays.
fn names(archive: &zip::ZipArchive<Cursor<&[u8]>>) -> Vec<String> {
    archive.file_names().map(|name| name.trim_end_matches(".npy").to_owned()).collect()
}

/// The name of the only array of an archive.
pub(super) fn only_name(file: &FileBytes) -> Result<String> {
    let names = names(&archive(file)?);
    match &names[..] {
        [only] => Ok(only.clone()),
        [] => Err(file.wrong(0, "no array in the archive")),
        _ => {
            Err(file
                .wrong(0, format!("several arrays, {}: choose one with `array`", names.join(", "))))
        }
    }
}

/// An array of an archive. Its checksum is verified while it is unpacked.
pub(super) fn member(file: &FileBytes, name: &str) -> Result<Array> {
    let mut archive = archive(file)?;
    let Some(place) = archive.index_for_name(&format!("{name}.npy")) else {
        let names = names(&archive).join(", ");
        let why = format!("no array `{name}` in the archive: there are {names}");
        return Err(file.wrong(0, why));
    };
    let broken = |error: &dyn std::fmt::Display| {
        file.wrong(
            0,
            format!("array `{name}` cannot be unpacked ({error}): download or copy it again"),
        )
    };
    let mut entry = archive.by_index(place).map_err(|error| broken(&error))?;
    let (most, stated) = (most_unpacked(file.len()), entry.size());
    let Some(bytes) = read_bounded(&mut entry, most, stated).map_err(|error| broken(&error))?
    else {
        return Err(file.wrong(0, format!("array `{name}` {}", too_much(file.len(), most))));
    };
    npy_file::array(FileBytes::unpacked(within(file.path(), name), bytes))
}

fn within(archive: &Path, name: &str) -> PathBuf {
    archive.join(format!("{name}.npy"))
}

//! The SDK that the program contains, to build plugins without the source tree.
//!
//! `hookrack-plugin-api` and its macros as two self-contained crates, the C and C++ headers, the guide for authors, the licenses. The
//! build script lists the files; `manifest` makes a crate's `Cargo.toml` independent of the workspace it comes from.

mod manifest;
#[cfg(test)]
mod tests;

pub use manifest::ManifestError;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The files as they are in the repository, by their paths there.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));

const LICENSES: [(&str, &str); 2] = [
    ("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE")),
    ("LICENSE-MIT", include_str!("../../../LICENSE-MIT")),
];

/// The file that identifies an SDK; it contains the version.
pub const MARKER: &str = "VERSION";

/// How much of the SDK is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Crates, headers and the guide.
    All,
    /// The C and C++ headers and the guide: all that a plugin in these languages needs.
    Headers,
}

/// Why no SDK was written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SdkError {
    /// The folder contains something else.
    #[error("{} is not empty and is not an SDK: name a new directory", dir.display())]
    NotEmpty { dir: PathBuf },
    /// A file or folder could not be created.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The crates' manifests are not as this program expects them.
    #[error("the embedded Cargo.toml of {package} cannot be used")]
    Manifest { package: &'static str, source: ManifestError },
}

/// The version of `hookrack-plugin-api` in the SDK.
pub const VERSION: &str = hookrack_plugin_api::VERSION;

/// Writes the SDK into `dir`, which is created if missing, and returns the number of files. An existing SDK is
/// updated; unchanged files are not touched, so that they are not recompiled.
///
/// # Errors
/// The folder holds something else, or a file cannot be written.
pub fn write(dir: &Path, parts: Parts) -> Result<usize, SdkError> {
    let failed = |source| SdkError::Write { path: dir.to_owned(), source };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let is_empty = dir.read_dir().map_err(failed)?.next().is_none();
    if !is_empty && !is_sdk(dir) {
        return Err(SdkError::NotEmpty { dir: dir.to_owned() });
    }
    let files = files(parts)?;
    for folder in ["plugin-api", "include", "docs"] {
        remove_others(dir, &dir.join(folder), &files)?;
    }
    for (file, text) in &files {
        write_if_different(&dir.join(file), text)?;
    }
    Ok(files.len())
}

/// Whether a folder holds an SDK.
pub fn is_sdk(dir: &Path) -> bool {
    let marker = std::fs::read_to_string(dir.join(MARKER));
    marker.is_ok_and(|text| text.starts_with("hookrack-plugin-api "))
}

/// The files of an SDK and their texts, by their paths in it.
fn files(parts: Parts) -> Result<BTreeMap<String, String>, SdkError> {
    let mut files = BTreeMap::new();
    let mut add = |path: &str, text: &str| files.insert(path.to_owned(), text.to_owned());
    add(MARKER, &format!("hookrack-plugin-api {VERSION}\n"));
    add("README.md", include_str!("README.md"));
    for (name, text) in LICENSES {
        add(name, text);
    }
    for (path, text) in FILES {
        if let Some(header) = path.strip_prefix("plugin-api/include/") {
            add(&format!("include/{header}"), text);
            continue;
        }
        let is_page = path.starts_with("docs/");
        if is_page || (parts == Parts::All && !path.ends_with("Cargo.toml")) {
            add(path, text);
        }
    }
    if parts == Parts::All {
        for package in ["plugin-api", "plugin-api/macros"] {
            let path = format!("{package}/Cargo.toml");
            let made = manifest::standalone(embedded(&path), package, embedded("Cargo.toml"));
            let made = made.map_err(|source| SdkError::Manifest { package, source })?;
            files.insert(path, made);
        }
    }
    Ok(files)
}

fn embedded(path: &str) -> &'static str {
    FILES.iter().find(|(name, _)| *name == path).map_or("", |(_, text)| text)
}

/// Removes what an earlier version left in `folder` of the SDK.
fn remove_others(
    sdk: &Path,
    folder: &Path,
    files: &BTreeMap<String, String>,
) -> Result<(), SdkError> {
    let failed = |source| SdkError::Write { path: folder.to_owned(), source };
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_ours = path
            .strip_prefix(sdk)
            .ok()
            .and_then(Path::to_str)
            .is_some_and(|name| files.contains_key(name));
        if path.is_dir() {
            remove_others(sdk, &path, files)?;
        } else if !is_ours {
            std::fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

fn write_if_different(path: &Path, text: &str) -> Result<(), SdkError> {
    if std::fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.map_err(|source| SdkError::Write { path: path.to_owned(), source })
}

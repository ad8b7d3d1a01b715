//! Reads a config file from disk: bounded, and valid UTF-8.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::error::{ConfigError, Fault};
use super::origin::{Document, DocumentKind, Origin};

/// A config is a few kilobytes; a checkpoint given by mistake must not fill the memory.
pub(super) const MOST_BYTES: u64 = 4 << 20;

/// Reads `path`, displayed as `shown`; `order` is its position in the reading order.
pub(super) fn read(path: &Path, shown: String, order: usize) -> Result<Arc<Document>, ConfigError> {
    let unreadable = |why| Fault::unreadable(&shown, &why);
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Fault::Unreadable { path: shown, why: "it is a folder".into() }.into());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let read = bytes.len() as u64;
    if read > MOST_BYTES {
        let bytes = metadata.len().max(read);
        return Err(Fault::TooLarge { path: shown, bytes, limit: MOST_BYTES }.into());
    }
    let dir = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let document = |text| Arc::new(Document { shown, text, dir, order, kind: DocumentKind::File });
    match String::from_utf8(bytes) {
        Ok(text) => Ok(document(text)),
        Err(error) => {
            // The message shows the text with a replacement character; up to there it is the file byte for byte.
            let offset = error.utf8_error().valid_up_to();
            let shown = document(String::from_utf8_lossy(error.as_bytes()).into_owned());
            let mark = offset..offset + char::REPLACEMENT_CHARACTER.len_utf8();
            Err(ConfigError::at(&Origin::at(&shown, mark), Fault::NotUtf8 { offset }))
        }
    }
}

/// The system's message without its number: `no such file`, not `… (os error 2)`.
pub(super) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

/// `a/./b/../c` as `a/c`. The folders that paths start from are physical, so this is exact unless
/// the written part itself goes up out of a symbolic link.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(clean.components().next_back(), Some(Component::Normal(_))) =>
            {
                clean.pop();
            }
            Component::ParentDir if clean.has_root() => {}
            part => clean.push(part),
        }
    }
    clean
}

/// The path with the folder's symbolic links resolved. A linked file stays where the link is: what
/// it names is looked for beside the link.
pub(super) fn physical(path: &Path) -> std::io::Result<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.canonicalize()?,
        _ => Path::new(".").canonicalize()?,
    };
    Ok(path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name)))
}

/// A path as a person in `current` would write it.
pub(super) fn shorten(path: &Path, current: &Path) -> String {
    match path.strip_prefix(current) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
        Ok(rest) => rest.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_up_is_taken_out_of_a_path() {
        let cleaned = |path: &str| clean(Path::new(path)).display().to_string();
        assert_eq!(cleaned("/a/./b/../c"), "/a/c");
        assert_eq!(cleaned("../x"), "../x");
        assert_eq!(cleaned("/../x"), "/x");
    }
}

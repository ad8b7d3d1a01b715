//! `.libtorch` at the root of the workspace: a link that is replaced atomically, and only if necessary.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::LibtorchError;
use crate::files::{self, During as _};

/// Points `link` at `target`; returns whether it changed.
pub(crate) fn point(link: &Path, target: &Path) -> Result<bool, LibtorchError> {
    if fs::symlink_metadata(link).is_ok_and(|found| !found.is_symlink()) {
        return Err(LibtorchError::NotALink { path: link.to_owned() });
    }
    if fs::read_link(link).is_ok_and(|now| now == target) {
        return Ok(false);
    }
    let beside = files::sibling(link, "new");
    files::remove(&beside)?;
    symlink(target, &beside).during("create the link", &beside)?;
    fs::rename(&beside, link).during("replace", link)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_replaced_only_when_it_points_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join(".libtorch");
        assert!(point(&link, Path::new("/a")).unwrap());
        assert!(!point(&link, Path::new("/a")).unwrap());
        assert!(point(&link, Path::new("/b")).unwrap());
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("/b"));
        assert_eq!(files::sorted_entries(folder.path()).unwrap(), [link]);
    }

    #[test]
    fn a_real_folder_in_its_place_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join(".libtorch");
        fs::create_dir(&link).unwrap();
        let text = point(&link, Path::new("/a")).unwrap_err().to_string();
        assert!(text.contains("is not a link"), "{text}");
        assert!(link.is_dir());
    }
}

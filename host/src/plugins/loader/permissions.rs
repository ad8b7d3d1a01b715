//! Checks that only root, this user and the owner of the program can add or change a library.
//!
//! The same rule as that of sshd for keys. It says nothing about what is in the file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const EVERYONE_WRITES: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;
/// In a folder with this bit only the owner of a file can replace it, as in /tmp.
const STICKY: u32 = 0o1000;

/// Why the permissions of a library are not safe.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PermissionError {
    #[error("{fault}: {}", fault.remedy(.path))]
    File { path: PathBuf, fault: AccessFault },
    #[error("its folder {} {fault}: {}", .path.display(), fault.remedy(.path))]
    Folder { path: PathBuf, fault: AccessFault },
    #[error(
        "is a link to {}, outside the plugin folders: copy the library here, or add that folder to `plugins.dirs`",
        .target.display()
    )]
    Escape { target: PathBuf },
}

/// Who else can change a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AccessFault {
    #[error("is writable by every user (mode {mode:04o})")]
    Everyone { mode: u32 },
    /// A group that is neither root's nor that of this process.
    #[error("is writable by group {gid} (mode {mode:04o})")]
    Group { gid: u32, mode: u32 },
    #[error("belongs to user {uid}, who is neither you nor root")]
    Owner { uid: u32 },
}

impl AccessFault {
    fn remedy(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Everyone { .. } => format!("run `chmod o-w {path}`"),
            Self::Group { .. } => format!("run `chmod g-w {path}`"),
            Self::Owner { .. } => {
                "copy the library to a folder of your own, or change the owner".to_owned()
            }
        }
    }
}

/// The users and groups whose files are accepted.
pub(super) struct TrustedOwners {
    users: Vec<u32>,
    groups: [u32; 2],
}

impl TrustedOwners {
    /// Root, this user, and the owner of the program: whoever can replace the program needs no plugin.
    pub(super) fn here() -> Self {
        let program = std::env::current_exe().and_then(|path| path.metadata()).ok();
        let own = rustix::process::geteuid().as_raw();
        let users = [0, own].into_iter().chain(program.map(|program| program.uid()));
        Self { users: users.collect(), groups: [0, rustix::process::getegid().as_raw()] }
    }

    fn fault(&self, meta: &Metadata) -> Option<AccessFault> {
        self.judge(meta.uid(), meta.gid(), meta.mode())
    }

    fn judge(&self, uid: u32, gid: u32, mode: u32) -> Option<AccessFault> {
        let mode = mode & 0o7777;
        if !self.users.contains(&uid) {
            Some(AccessFault::Owner { uid })
        } else if mode & EVERYONE_WRITES != 0 {
            Some(AccessFault::Everyone { mode })
        } else if mode & GROUP_WRITES != 0 && !self.groups.contains(&gid) {
            Some(AccessFault::Group { gid, mode })
        } else {
            None
        }
    }
}

/// Checks the file, the folder that it is in and those above. `file` is without links, `meta` that of the file as it
/// was opened.
pub(super) fn check(
    file: &Path,
    meta: &Metadata,
    trusted: &TrustedOwners,
) -> Result<(), PermissionError> {
    if let Some(fault) = trusted.fault(meta) {
        return Err(PermissionError::File { path: file.to_owned(), fault });
    }
    check_folder(file.parent().unwrap_or(file), trusted)
}

/// Checks any file that the host relies on. If it does not exist, nobody else must be able to create it.
///
/// # Errors
/// Others could have put it there or can change it.
pub fn check_permissions(file: &Path) -> Result<(), PermissionError> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if let Ok(meta) = file.metadata() {
        return check(&file, &meta, &TrustedOwners::here());
    }
    let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
    folder.map_or(Ok(()), |folder| check_folder(&folder, &TrustedOwners::here()))
}

/// Checks a folder, and that nobody can put another in its place.
pub(super) fn check_folder(folder: &Path, trusted: &TrustedOwners) -> Result<(), PermissionError> {
    for (above, dir) in folder.ancestors().enumerate() {
        // A folder that cannot be inspected is accepted: others cannot see more of it either.
        let Ok(meta) = dir.metadata() else { continue };
        let is_sticky = meta.mode() & STICKY != 0;
        match trusted.fault(&meta) {
            Some(AccessFault::Everyone { .. } | AccessFault::Group { .. }) if is_sticky => {}
            // Groups and owners of the folders above are up to whoever created them.
            Some(AccessFault::Group { .. } | AccessFault::Owner { .. }) if above > 0 => {}
            Some(fault) => return Err(PermissionError::Folder { path: dir.to_owned(), fault }),
            None => {}
        }
    }
    Ok(())
}

/// Checks the folder of a link: whoever can change the link chooses the library.
pub(super) fn check_link(path: &Path) -> Result<(), PermissionError> {
    if !path.is_symlink() {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    match folder.unwrap_or(Path::new(".")).canonicalize() {
        Ok(folder) => check_folder(&folder, &TrustedOwners::here()),
        Err(_) => Ok(()),
    }
}

/// Checks that a file found in one of the folders is really in one of them, and not a link that leads elsewhere. All paths
/// are without links.
pub(super) fn check_inside(file: &Path, folders: &[PathBuf]) -> Result<(), PermissionError> {
    if folders.iter().any(|folder| file.starts_with(folder)) {
        return Ok(());
    }
    Err(PermissionError::Escape { target: file.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_this_user_and_the_owner_of_the_program_are_trusted() {
        let trusted = TrustedOwners { users: vec![0, 1000, 20], groups: [0, 1000] };
        let judge = |uid, gid, mode| trusted.judge(uid, gid, mode);
        for (uid, gid, mode) in [(0, 0, 0o755), (1000, 5, 0o750), (20, 5, 0o644), (0, 1000, 0o664)]
        {
            assert_eq!(judge(uid, gid, 0o100_000 | mode), None, "{uid} {gid} {mode:o}");
        }
        assert_eq!(judge(1001, 1000, 0o644), Some(AccessFault::Owner { uid: 1001 }));
        assert_eq!(judge(1000, 1000, 0o666), Some(AccessFault::Everyone { mode: 0o666 }));
        assert_eq!(judge(1000, 5, 0o664), Some(AccessFault::Group { gid: 5, mode: 0o664 }));
    }

    #[test]
    fn a_link_must_stay_within_the_folders() {
        let folders = [PathBuf::from("/p"), PathBuf::from("/q/r")];
        assert_eq!(check_inside(Path::new("/q/r/liba.so"), &folders), Ok(()));
        assert!(check_inside(Path::new("/q/liba.so"), &folders).is_err());
        assert!(check_inside(Path::new("/pp/liba.so"), &folders).is_err());
    }
}

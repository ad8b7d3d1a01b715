//! Output files that a command is given: what would keep one from being written is found before the work, not after it.

use super::exit::Failure;
use crate::ranks::Ranks;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Checks that the folder of a file exists, on the process that will write it.
pub(super) fn check_folder(file: &Path) -> Result<(), Failure> {
    if Ranks::from_env().is_ok_and(|ranks| !ranks.is_main()) {
        return Ok(());
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let why = match folder.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            format!("there is no folder {}: create it, or choose another file", folder.display())
        }
        Err(error) => return Err(Failure::could_not_write(file, &error)),
        Ok(about) if !about.is_dir() => {
            format!("{} is not a folder: choose another file", folder.display())
        }
        Ok(_) if file.is_dir() => "it is a folder: choose another file".to_owned(),
        Ok(_) => return Ok(()),
    };
    Err(Failure::could_not_write(file, &Error::other(why)))
}

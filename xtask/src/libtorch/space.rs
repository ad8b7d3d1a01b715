//! Whether there is enough disk space for what will be downloaded and unpacked.

use std::path::Path;

use indicatif::DecimalBytes;

use super::{LibtorchError, pins::Wheel};
use crate::files::During as _;

/// The wheels, what is unpacked from them, and some reserve.
const NEEDED: u64 = 1_600_000_000;

/// Fails if the disk under `folder` is too full. Partially downloaded `wheels` need only their rest.
pub(crate) fn require(
    folder: &Path,
    downloads: &Path,
    wheels: &[Wheel],
) -> Result<(), LibtorchError> {
    let there = wheels.iter().map(|wheel| received(downloads, wheel)).sum();
    let needed = still_needed(there);
    let disk = rustix::fs::statvfs(folder)
        .map_err(std::io::Error::from)
        .during("read the free space of", folder)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    enough(folder, free, needed)
}

fn received(downloads: &Path, wheel: &Wheel) -> u64 {
    [wheel.file.to_owned(), format!("{}.part", wheel.file)]
        .iter()
        .filter_map(|name| downloads.join(name).metadata().ok())
        .map(|found| found.len())
        .max()
        .unwrap_or(0)
}

fn still_needed(received: u64) -> u64 {
    NEEDED.saturating_sub(received)
}

fn enough(folder: &Path, free: u64, needed: u64) -> Result<(), LibtorchError> {
    if free >= needed {
        return Ok(());
    }
    let (free, needed) = (DecimalBytes(free).to_string(), DecimalBytes(needed).to_string());
    Err(LibtorchError::NoSpace { folder: folder.to_owned(), free, needed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_both_amounts_and_the_way_out() {
        let error = enough(Path::new("/cache"), 300_000_000, still_needed(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not enough space in /cache: 300.00 MB free, 1.60 GB needed; free some, or set \
             HOOKRACK_CACHE to a folder on a larger disk"
        );
    }

    #[test]
    fn what_was_received_before_is_not_needed_again() {
        assert_eq!(still_needed(500_000_000), 1_100_000_000);
        enough(Path::new("/cache"), 1_200_000_000, still_needed(500_000_000)).unwrap();
    }
}

//! A copy of a library in memory that nobody can change, not even the host: what was checked is what is mapped.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

/// What the kernel allows as the name of a file in memory, without the `memfd:` before it.
const LONGEST_NAME: usize = 249;

/// How often, and after which pause, a busy file is sealed again: for five seconds.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// A file in memory with these bytes, which can neither grow, shrink nor be written to. `/proc/PID/maps` shows it as
/// `/memfd:NAME`.
pub(super) fn copy(name: &OsStr, bytes: &[u8]) -> io::Result<File> {
    let name = name.as_bytes();
    let name = &name[..name.len().min(LONGEST_NAME)];
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // A library is mapped, never executed as a program; kernels before 6.3 do not know the flag that says so.
    let fd = match memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, flags)?,
        other => other?,
    };
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    seal(&file, all)?;
    Ok(file)
}

/// The kernel refuses to seal a file while it holds one of its pages for a moment, as it does on a busy machine.
fn seal(file: &File, seals: SealFlags) -> io::Result<()> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match fcntl_add_seals(file, seals) {
            Err(Errno::BUSY) if tries > 0 => std::thread::sleep(PAUSE),
            done => return Ok(done?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Seek as _};

    #[test]
    fn a_copy_has_the_bytes_and_cannot_be_changed() {
        let mut file = copy(OsStr::new("libx.so"), b"bytes").unwrap();
        file.rewind().unwrap();
        assert!(file.write_all(b"other").is_err());
        assert!(file.set_len(2).is_err() && file.set_len(9).is_err());
        let mut read = String::new();
        file.read_to_string(&mut read).unwrap();
        assert_eq!(read, "bytes");
    }

    #[test]
    fn a_name_may_be_longer_than_the_kernel_allows() {
        assert!(copy(OsStr::new(&"x".repeat(400)), b"").is_ok());
    }
}

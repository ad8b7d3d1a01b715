//! The socket at which the other ranks find rank 0, opened by `hookrack launch`, so that no other process can take its port.

use super::{Ranks, Source};
use rustix::net::sockopt::socket_acceptconn;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};

impl Ranks {
    /// The listening socket that the launcher passed to rank 0 as its standard input, which is empty from then on.
    pub fn take_listener(&self) -> Option<OwnedFd> {
        let is_passed = self.source == Source::Launch && self.is_main() && !self.is_single();
        let stdin = std::io::stdin();
        if !is_passed || !socket_acceptconn(&stdin).unwrap_or(false) {
            return None;
        }
        let listener = stdin.as_fd().try_clone_to_owned().ok()?;
        // Programs started by the rank must not inherit the port.
        rustix::stdio::dup2_stdin(File::open("/dev/null").ok()?).ok()?;
        Some(listener)
    }
}

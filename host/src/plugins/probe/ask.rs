//! The host's side of a probe.

use super::super::loader::{Image, Refusal};
use super::child::Request;
use super::{ARGUMENT, Verdict};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A probe that is started when the first library is to be tried.
#[derive(Default)]
pub(super) struct Probe(Option<Running>);

struct Running {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Probe {
    /// Probes a library and returns the verdict.
    ///
    /// # Errors
    /// The probe could not be run, which says nothing about the library.
    pub(super) fn verdict(&mut self, image: &Image) -> Result<Verdict, Refusal> {
        tracing::debug!(library = %image.path.display(), "probing");
        self.asked(image).map_err(|cause| {
            // A probe that no longer answers cannot be used for the next library.
            self.0 = None;
            let reason = format!("could not be probed: {cause}");
            Refusal::Probe { step: "probe".to_owned(), reason }
        })
    }

    fn asked(&mut self, image: &Image) -> io::Result<Verdict> {
        let running = match &mut self.0 {
            Some(running) => running,
            none => none.insert(Running::start()?),
        };
        // For messages alone; a path need not be UTF-8.
        let path = image.path.to_string_lossy().into_owned();
        Request { path, size: image.bytes.len() }.write(&mut running.to, &image.bytes)?;
        let mut answer = String::new();
        if running.from.read_line(&mut answer)? == 0 {
            return Err(io::Error::other("the probe ended"));
        }
        Ok(serde_json::from_str(&answer)?)
    }
}

impl Running {
    fn start() -> io::Result<Self> {
        // Not by its path: the program may have been replaced since it was started.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("hookrack-probe").arg(ARGUMENT);
        // A library that is only probed must not see the secrets of the user who runs the host.
        let kept = |name: &std::ffi::OsStr| {
            let name = name.to_string_lossy();
            name.starts_with("LD_") || name.starts_with("HOOKRACK_")
        };
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| kept(name)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        Ok(Self { child, to, from: BufReader::new(from) })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It waits for the next library; killed, it takes nothing with it.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Request {
    fn write(&self, to: &mut impl io::Write, bytes: &[u8]) -> io::Result<()> {
        let mut head = serde_json::to_vec(self)?;
        head.push(b'\n');
        to.write_all(&head)?;
        to.write_all(bytes)?;
        to.flush()
    }
}

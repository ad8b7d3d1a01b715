//! The child process of a probe: it receives libraries and loads each in a separate fork.

use super::super::loader::{self, Image};
use super::{Verdict, sandbox};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::time::{Duration, Instant};

/// The seconds that a library has to load, unless `HOOKRACK_PROBE_SECONDS` says otherwise.
const SECONDS: u64 = 20;

/// The longest answer: the manifests of any library are far shorter.
const LONGEST_ANSWER: usize = 64 << 20;

/// What is sent before the bytes of a library, as a line of JSON.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    /// Where the host found it.
    pub(super) path: String,
    /// How many bytes follow.
    pub(super) size: usize,
}

/// Answers until the host has no more libraries.
pub(super) fn serve() {
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    while let Ok(Some(image)) = receive(&mut from) {
        let mut line = answer(&examine(&image));
        line.push(b'\n');
        if to.write_all(&line).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

fn receive(from: &mut impl BufRead) -> io::Result<Option<Image>> {
    let mut head = String::new();
    if from.read_line(&mut head)? == 0 {
        return Ok(None);
    }
    let Request { path, size } = serde_json::from_str(&head)?;
    let mut bytes = vec![0; size];
    from.read_exact(&mut bytes)?;
    Ok(Some(Image { path: path.into(), sha256: String::new(), bytes }))
}

fn answer(verdict: &Verdict) -> Vec<u8> {
    serde_json::to_vec(verdict).unwrap_or_default()
}

fn examine(image: &Image) -> Verdict {
    let failed = |cause: io::Error| Verdict::Refused {
        // Not a lasting verdict: the machine is to blame.
        step: "dlopen".to_owned(),
        reason: format!("could not be probed: {cause}"),
    };
    let (reader, writer) = match io::pipe() {
        Ok(pipe) => pipe,
        Err(cause) => return failed(cause),
    };
    // SAFETY: a probe has this one thread, so that the fork finds every lock free.
    match unsafe { libc::fork() } {
        -1 => failed(io::Error::last_os_error()),
        0 => {
            drop(reader);
            try_out(image, writer)
        }
        child => {
            drop(writer);
            await_answer(child, reader)
        }
    }
}

/// The fork: loads the library, reports the result and exits.
fn try_out(image: &Image, mut writer: PipeWriter) -> ! {
    let tried = loader::try_out(image, |copy| sandbox::enter(copy, writer.as_fd()));
    let verdict = match tried {
        Ok(library) => Verdict::Accepted(library.about.info.clone()),
        Err(why) => Verdict::Refused { step: why.step().to_owned(), reason: why.to_string() },
    };
    let mut line = answer(&verdict);
    line.push(b'\n');
    let code = i32::from(writer.write_all(&line).is_err());
    // SAFETY: ends the process without running what the library has registered to run at its end.
    unsafe { libc::_exit(code) }
}

fn await_answer(child: libc::pid_t, mut reader: PipeReader) -> Verdict {
    let seconds = std::env::var("HOOKRACK_PROBE_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let heard = hear(&mut reader, Instant::now() + Duration::from_secs(seconds));
    // SAFETY: the child leads a group of its own, which may have grown.
    unsafe { libc::kill(-child, libc::SIGKILL) };
    let told = heard.as_ref().ok().and_then(|line| serde_json::from_slice(line).ok());
    let mut status = 0;
    if heard.is_err() || told.is_some() {
        // SAFETY: it is a child of this process that was not waited for; it has said all, or too long nothing.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    // SAFETY: it is a child of this process that was not waited for.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    match told {
        Some(verdict) => verdict,
        None if heard.is_err() => Verdict::Quarantined {
            reason: format!("it was still loading after {seconds} s (HOOKRACK_PROBE_SECONDS)"),
        },
        None => Verdict::Quarantined { reason: ending(status) },
    }
}

/// All that is written until the pipe closes or a line is whole.
fn hear(reader: &mut PipeReader, until: Instant) -> Result<Vec<u8>, TimedOut> {
    let mut heard = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let left = until.saturating_duration_since(Instant::now()).as_millis();
        let left = libc::c_int::try_from(left).unwrap_or(libc::c_int::MAX);
        let mut wait = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        if unsafe { libc::poll(&raw mut wait, 1, left) } < 1 {
            return Err(TimedOut);
        }
        match reader.read(&mut buffer) {
            Ok(0) | Err(_) => return Ok(heard),
            Ok(count) => heard.extend_from_slice(&buffer[..count]),
        }
        if heard.last() == Some(&b'\n') || heard.len() > LONGEST_ANSWER {
            return Ok(heard);
        }
    }
}

struct TimedOut;

/// How a process that said nothing ended.
fn ending(status: libc::c_int) -> String {
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        let name = signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned);
        return format!("loading it ended the process with {name}");
    }
    match libc::WEXITSTATUS(status) {
        127 => "the dynamic linker aborted the process".to_owned(),
        code => format!("loading it ended the process with exit code {code}"),
    }
}

fn signal_name(signal: libc::c_int) -> Option<&'static str> {
    Some(match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGBUS => "SIGBUS",
        libc::SIGILL => "SIGILL",
        libc::SIGFPE => "SIGFPE",
        libc::SIGABRT => "SIGABRT",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGSYS => "SIGSYS",
        libc::SIGXCPU => "SIGXCPU: it computed for too long",
        libc::SIGXFSZ => "SIGXFSZ: it tried to write to a file",
        libc::SIGKILL => "SIGKILL",
        _ => return None,
    })
}

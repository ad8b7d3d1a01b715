//! Runs other programs with a timeout: one that hangs fails its test, with its output so far.

use std::fs::File;
use std::io::{Read as _, Result, Seek as _};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Far more than any program of these tests takes on a busy machine, builds of plugins included.
const PATIENCE: Duration = Duration::from_mins(15);

/// As [`Command::output`]. Its output goes to files, so that no pipe must be drained while it runs.
///
/// # Errors
/// It could not be started.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?);
    let mut child = command.spawn()?;
    let ended = wait_for(&mut child, PATIENCE)?;
    let (stdout, stderr) = (all_of(&mut out)?, all_of(&mut err)?);
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = ended.unwrap_or_else(|| {
        panic!("{command:?} hangs; it said:\n{}\n{}", said(&stdout), said(&stderr))
    });
    Ok(Output { status, stdout, stderr })
}

/// As [`Child::wait`].
#[track_caller]
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    wait_for(child, PATIENCE).unwrap().unwrap_or_else(|| panic!("{child:?} hangs"))
}

/// Sends a signal to a program, by its short name: `INT`.
#[track_caller]
pub(crate) fn signal(child: &Child, name: &str) {
    let sent = output(Command::new("kill").args(["-s", name, &child.id().to_string()])).unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits up to this long; kills the process and returns `None` on timeout.
fn wait_for(child: &mut Child, patience: Duration) -> Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < patience {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill()?;
    child.wait().map(|_| None)
}

fn all_of(file: &mut File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn a_program_that_hangs_is_ended_and_others_say_all_that_they_say() {
    let mut sleeper = Command::new("sleep").arg("600").spawn().unwrap();
    assert_eq!(wait_for(&mut sleeper, Duration::from_millis(20)).unwrap(), None);
    assert!(sleeper.try_wait().unwrap().is_some(), "it is gone");
    let ran = output(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap();
    assert_eq!(
        (ran.status.code(), &ran.stdout[..], &ran.stderr[..]),
        (Some(3), &b"out\n"[..], &b"err\n"[..])
    );
}

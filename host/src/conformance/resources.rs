//! Leaks of tensors, memory, files and threads, and changes to the process.

use super::points::instance;
use super::{Case, CaseEnv, Outcome, ensure};
use crate::plugins::crash::SignalGuard;
use crate::process_memory::ProcessMemory;
use hookrack_plugin_api::Point;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

pub(super) static CASES: &[Case] = &[
    Case::new(
        "leaks.handles",
        "Creating and destroying hooks 1000 times leaks no tensor.",
        handles,
    ),
    Case::new(
        "leaks.memory",
        "Creating and destroying hooks 1000 times leaks less than 64 MiB.",
        memory,
    ),
    Case::new(
        "leaks.descriptors",
        "Creating and destroying hooks 100 times leaves no file open.",
        descriptors,
    ),
    Case::new(
        "leaks.threads",
        "Creating and destroying hooks 100 times leaves no thread running.",
        threads,
    ),
    Case::new("leaks.run_threads", "A run leaves no thread running.", run_threads),
    Case::new("leaks.run_handles", "A run leaks no tensor of a hook.", run_handles),
    Case::new("surroundings.folder", "The working directory does not change.", folder),
    Case::new("surroundings.signals", "Signal handlers are not replaced.", signals),
    Case::new("surroundings.environment", "Environment variables do not change.", environment),
    Case::new("surroundings.limits", "The umask does not change.", umask),
];

/// Creates, attaches, detaches and destroys each hook this many times; returns the number of leaked tensors.
fn live(case: &CaseEnv, times: usize) -> Result<usize, String> {
    let context = case.context()?;
    let before = context.arena.borrow().owned_len();
    for hook in case.hooks()? {
        for _ in 0..times {
            let mut instance = instance(&hook, &context)?;
            for point in [Point::OnAttach, Point::BeforeRun, Point::AfterRun, Point::OnDetach] {
                instance.on_point(point);
            }
        }
    }
    let after = context.arena.borrow().owned_len();
    Ok(after.saturating_sub(before))
}

fn handles(case: &CaseEnv) -> Outcome {
    live(case, 1000).and_then(|left| ensure(left == 0, || format!("{left} tensors")))
}

/// The memory of this process in bytes.
fn resident() -> u64 {
    ProcessMemory::read().unwrap_or_default().current
}

fn memory(case: &CaseEnv) -> Outcome {
    live(case, 100)?;
    let before = resident();
    live(case, 1000)?;
    let grown = resident().saturating_sub(before);
    ensure(grown < 64 << 20, || format!("{} MiB", grown >> 20))
}

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

fn count_stays(case: &CaseEnv, folder: &str) -> Outcome {
    live(case, 2)?;
    let before = entries(folder);
    live(case, 100)?;
    let after = entries(folder);
    ensure(after <= before, || format!("{before} before, {after} after"))
}

fn descriptors(case: &CaseEnv) -> Outcome {
    count_stays(case, "/proc/self/fd")
}

fn threads(case: &CaseEnv) -> Outcome {
    count_stays(case, "/proc/self/task")
}

/// The threads of the host and of libtorch are there after a first run.
fn run_threads(case: &CaseEnv) -> Outcome {
    let settled = |most: usize| {
        // A thread that is ending may take a moment.
        (0..100).find_map(|_| {
            let now = entries("/proc/self/task");
            if now > most {
                std::thread::sleep(Duration::from_millis(10));
            }
            (now <= most).then_some(now)
        })
    };
    let with = case.entries("")?;
    case.fit("", &[])?;
    let before = entries("/proc/self/task");
    case.fit(&with, &[])?;
    ensure(settled(before).is_some(), || {
        format!("{before} before, {} after", entries("/proc/self/task"))
    })
}

fn run_handles(case: &CaseEnv) -> Outcome {
    let entries = case.entries("")?;
    let trainer = case.fit(&entries, &[])?;
    let context = trainer.context().clone();
    drop(trainer);
    let left = context.arena.borrow().owned_len();
    ensure(left == 0, || format!("{left} tensors"))
}

/// Checks that a run does not change something.
fn stays<T: PartialEq>(case: &CaseEnv, look: impl Fn() -> T, what: &str) -> Outcome {
    let entries = case.entries("")?;
    let before = look();
    case.fit(&entries, &[])?;
    ensure(look() == before, || format!("{what} has changed"))
}

fn folder(case: &CaseEnv) -> Outcome {
    stays(case, || std::env::current_dir().ok(), "the working directory")
}

fn environment(case: &CaseEnv) -> Outcome {
    stays(
        case,
        || std::env::vars_os().collect::<BTreeMap<OsString, OsString>>(),
        "an environment variable",
    )
}

fn umask(case: &CaseEnv) -> Outcome {
    let mask = || {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        status.lines().find(|line| line.starts_with("Umask:")).map(str::to_owned)
    };
    stays(case, mask, "the umask")
}

fn signals(case: &CaseEnv) -> Outcome {
    let entries = case.entries("")?;
    // Except those that the host and libtorch install on demand.
    case.fit("", &[])?;
    let guard = SignalGuard::of(&(1..32).collect::<Vec<_>>());
    case.fit(&entries, &[])?;
    let replaced = guard.restore();
    ensure(replaced.is_empty(), || format!("the handlers of signals {replaced:?} were replaced"))
}

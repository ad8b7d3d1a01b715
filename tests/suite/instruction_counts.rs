//! How many instructions the hot paths take, counted by callgrind: the same on a busy machine.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use crate::patience::output;
use crate::workbench::{built, library};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Instructions of a call in the dev profile, and half as many again, since compilers and CPUs differ. Measured: 33, 371, 2567, 357,
/// 14476 (nearly all of it libtorch's dispatcher and kernel) and 77209 (64 images of 784 bytes made floats).
const LIMITS: [(&str, u64); 6] = [
    ("fire, 0 hooks", 50),
    ("fire, 1 hook", 560),
    ("fire, 10 hooks", 3_900),
    ("put_scalar", 540),
    ("operator call", 22_000),
    ("batch of the loader", 116_000),
];

/// The instructions of one call of each path.
fn counts(folder: &Path) -> HashMap<String, u64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet", "--callgrind-out-file=counts"]);
    valgrind.args(["--compress-strings=no", "--compress-pos=no"]);
    valgrind.arg(built("hookrack-bench")).arg("counts");
    valgrind.arg("--library").arg(library("libhookrack_bench_noop.so")).current_dir(folder);
    let ran = output(&mut valgrind).unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let paths: Vec<(String, u64)> = serde_json::from_slice(&ran.stdout).unwrap();
    let totals = totals(&fs::read_to_string(folder.join("counts")).unwrap());
    assert_eq!(totals.len(), paths.len(), "{totals:?}");
    paths.into_iter().zip(totals).map(|((name, calls), total)| (name, total / calls)).collect()
}

/// The instructions of each call of `counted` in `run`, in the order of their lines.
fn totals(profile: &str) -> Vec<u64> {
    let mut functions = profile.split("\nfn=");
    let run = functions.find(|text| text.starts_with("hookrack_bench::counts::run\n")).unwrap();
    let mut calls: Vec<(u64, u64)> = Vec::new();
    let mut lines = run.lines();
    while let Some(line) = lines.next() {
        if line == "cfn=hookrack_bench::counts::counted" {
            let call = lines.find(|line| !line.starts_with("calls=")).unwrap();
            let (place, cost) = call.split_once(' ').unwrap();
            calls.push((place.parse().unwrap(), cost.parse().unwrap()));
        }
    }
    calls.sort_unstable();
    calls.into_iter().map(|(_, cost)| cost).collect()
}

#[test]
fn the_hot_paths_take_no_more_instructions_than_they_did() {
    if !output(Command::new("valgrind").arg("--version")).is_ok_and(|it| it.status.success()) {
        println!("SKIPPED: valgrind not found");
        return;
    }
    let folder = TempDir::new().unwrap();
    let counts = counts(folder.path());
    let too_many = LIMITS.iter().filter(|(name, limit)| counts[*name] > *limit);
    assert_eq!(too_many.collect::<Vec<_>>(), [&("", 0); 0], "{counts:?}");
}

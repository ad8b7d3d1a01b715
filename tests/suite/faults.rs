//! A disk that fails while a checkpoint is written: the error says so, the checkpoint before is whole and used. What a
//! checkpoint counts on is on the disk before it.

use crate::patience::output;
use crate::workbench::{Bench, RunFolder, program};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Stands between the program and the system: calls on some files fail as the environment says, and what makes files
/// last is written down.
const LAYER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where FAULT_WHILE names a file, only while that is there. */
static int is_path_hit(const char *path, const char *call) {
    const char *fault = getenv("FAULT"), *where = getenv("FAULT_IN"), *while_ = getenv("FAULT_WHILE");
    if (while_ && access(while_, F_OK) != 0) return 0;
    return fault && where && strcmp(fault, call) == 0 && strstr(path, where) != NULL;
}

static const char *path_of(int fd, char *path, size_t room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, room - 1);
    path[n < 0 ? 0 : n] = 0;
    return path;
}

static int is_hit(int fd, const char *call) {
    char path[4096];
    return is_path_hit(path_of(fd, path, sizeof path), call);
}

static void note(const char *call, const char *path) {
    const char *name = getenv("FAULT_LOG");
    FILE *log = name ? fopen(name, "a") : NULL;
    if (log) { fprintf(log, "%s %s\n", call, path); fclose(log); }
}

ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    if (is_hit(fd, "write-enospc")) { errno = ENOSPC; return -1; }
    if (is_hit(fd, "write-eio")) { errno = EIO; return -1; }
    /* A disk that takes half and then no more. */
    if (is_hit(fd, "write-short")) {
        if (count < 64) { errno = ENOSPC; return -1; }
        return real(fd, bytes, count / 2);
    }
    return real(fd, bytes, count);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    char path[4096];
    if (is_hit(fd, "sync-eio")) { errno = EIO; return -1; }
    note("sync", path_of(fd, path, sizeof path));
    return real(fd);
}

int rename(const char *from, const char *to) {
    static int (*real)(const char *, const char *);
    if (!real) real = dlsym(RTLD_NEXT, "rename");
    if (is_path_hit(to, "rename-eio")) { errno = EIO; return -1; }
    note("rename", to);
    return real(from, to);
}

int mkdir(const char *path, mode_t mode) {
    static int (*real)(const char *, mode_t);
    if (!real) real = dlsym(RTLD_NEXT, "mkdir");
    if (is_path_hit(path, "mkdir-eacces")) { errno = EACCES; return -1; }
    return real(path, mode);
}
"#;

fn layer() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (source, out) = (folder.join("faults.c"), folder.join("libfaults.so"));
        std::fs::write(&source, LAYER).unwrap();
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&out).arg(&source).arg("-ldl");
        assert!(output(&mut cc).unwrap().status.success());
        out
    })
}

pub(crate) fn train<K: AsRef<OsStr>>(
    bench: &Bench,
    environment: impl IntoIterator<Item = (K, K)>,
) -> Output {
    let mut command = Command::new(program());
    command.args(["train", "config.toml", "--run-dir", "run"]).current_dir(bench.path("."));
    command.env_remove("LD_LIBRARY_PATH").env("LD_PRELOAD", layer());
    output(command.envs(environment)).unwrap()
}

#[test]
fn a_disk_that_fails_in_a_checkpoint_ends_the_run_and_leaves_the_one_before() {
    // The temporary folder is `.iter_0000004.<pid>.tmp`: the process id stands between.
    let second = "iter_0000004";
    let cases = [
        ("write-enospc", second, "No space left on device"),
        ("write-eio", second, "Input/output error"),
        ("write-short", second, "No space left on device"),
        ("sync-eio", second, "Input/output error"),
        ("rename-eio", second, "Input/output error"),
        ("mkdir-eacces", second, "Permission denied"),
    ];
    for (fault, file, words) in cases {
        let bench = Bench::new("");
        let ran = train(&bench, [("FAULT", fault), ("FAULT_IN", file)]);
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(6), "{fault}: {stderr}");
        assert!(stderr.contains(words) && stderr.contains("iter_0000004"), "{fault}: {stderr}");
        let run = RunFolder { path: bench.path("run") };
        assert_eq!(run.checkpoints(), ["iter_0000002"], "{fault}");
        assert_eq!(run.record()["outcome"], "failed", "{fault}");
        let left = std::fs::read_dir(run.path.join("checkpoints")).unwrap().count();
        assert_eq!(left, 2, "{fault}: the checkpoint and `latest`");
        let (ran, run) = bench.train("run", &["--resume"]);
        ran.expect(0);
        assert_eq!(run.record()["iter"], 4, "{fault}: the run went on from the checkpoint before");
    }
}

#[test]
fn metrics_and_event_files_are_on_the_disk_before_a_checkpoint_that_counts_on_them() {
    let bench = Bench::new(
        "[default_hooks]\nlogger = { interval = 1 }\n[[custom_hooks]]\ntype = \"Gallery\"\n",
    );
    let log = bench.path("log");
    let ran = train(&bench, [("FAULT_LOG", log.to_str().unwrap())]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let log = bench.read("log");
    let lines: Vec<_> = log.lines().collect();
    let mut begin = 0;
    for checkpoint in ["iter_0000002", "iter_0000004"] {
        let is_it = |line: &&str| line.starts_with("rename ") && line.ends_with(checkpoint);
        let end = begin + lines[begin..].iter().position(is_it).unwrap();
        for file in ["/metrics.json", "/tb/events.out.tfevents."] {
            let is_synced = |line: &&str| line.starts_with("sync ") && line.contains(file);
            assert!(lines[begin..end].iter().any(is_synced), "{file} {checkpoint}:\n{log}");
        }
        begin = end;
    }
}

#[test]
fn metrics_that_do_not_come_to_the_disk_end_the_run_without_a_checkpoint_that_counts_on_them() {
    let bench = Bench::new("");
    let ran = train(&bench, [("FAULT", "sync-eio"), ("FAULT_IN", "/metrics.json")]);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("could not sync ") && stderr.contains("metrics.json"), "{stderr}");
    assert_eq!(RunFolder { path: bench.path("run") }.checkpoints(), [""; 0]);
}

//! A disk that fails while a checkpoint is written: the error says so, the checkpoint before is whole and used.

use crate::workbench::{Bench, RunFolder, program};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Stands between the program and the system: calls on files of the second checkpoint fail as the environment says.
const LAYER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_hit(int fd, const char *call) {
    const char *fault = getenv("FAULT"), *where = getenv("FAULT_IN");
    char link[64], path[4096];
    if (!fault || !where || strncmp(fault, call, strlen(call)) != 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strstr(path, where) != NULL;
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
    if (is_hit(fd, "sync-eio")) { errno = EIO; return -1; }
    return real(fd);
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
        assert!(cc.status().unwrap().success());
        out
    })
}

fn train(bench: &Bench, fault: &str, file: &str) -> Output {
    let mut command = Command::new(program());
    command.args(["train", "config.toml", "--run-dir", "run"]).current_dir(bench.path("."));
    command.env_remove("LD_LIBRARY_PATH").env("LD_PRELOAD", layer());
    command.env("FAULT", fault).env("FAULT_IN", format!("iter_0000004.{file}"));
    command.output().unwrap()
}

#[test]
fn a_disk_that_fails_in_a_checkpoint_ends_the_run_and_leaves_the_one_before() {
    // The temporary folder is `.iter_0000004.<pid>.tmp`: the process id stands between.
    let cases = [
        ("write-enospc", "No space left on device"),
        ("write-eio", "Input/output error"),
        ("write-short", "No space left on device"),
        ("sync-eio", "Input/output error"),
    ];
    for (fault, words) in cases {
        let bench = Bench::new("");
        let ran = train(&bench, fault, "");
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

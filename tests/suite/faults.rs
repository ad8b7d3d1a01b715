//! A disk that fails while a checkpoint is written: the error says so, the previous checkpoint is intact and used. What a
//! checkpoint depends on is synced before it.

use crate::patience::output;
use crate::resume::assert_same;
use crate::workbench::{Bench, Ran, hook};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Intercepts system calls: those on some files fail as the environment says, and those that sync files
/// are recorded.
const LAYER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
    int done = real(from, to);
    if (is_path_hit(to, "rename-kill")) raise(SIGKILL);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    static int (*real)(const char *, mode_t);
    if (!real) real = dlsym(RTLD_NEXT, "mkdir");
    if (is_path_hit(path, "mkdir-eacces")) { errno = EACCES; return -1; }
    int done = real(path, mode);
    if (done == 0) note("mkdir", path);
    return done;
}

/* What the program asks of the system without the C library is refused by the system itself: an error number in place
   of a call, in place of one with a flag. */
static void refuse(unsigned call, unsigned argument, unsigned flag, int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[argument])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flag, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("no filter of system calls");
        abort();
    }
}

__attribute__((constructor)) static void begin(void) {
    const char *lacks = getenv("SYSTEM_LACKS");
    if (!lacks) return;
    /* RENAME_EXCHANGE is 2; every kind of lock has a bit of 15. */
    if (strstr(lacks, "exchange")) refuse(SYS_renameat2, 4, 2, EINVAL);
    if (strstr(lacks, "locks")) refuse(SYS_flock, 1, 15, ENOLCK);
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
    let args = ["train", "config.toml", "--run-dir", "run"];
    output(layered(bench, &args).envs(environment)).unwrap()
}

fn layered(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.env("LD_PRELOAD", layer());
    command
}

#[test]
fn a_disk_that_fails_in_a_checkpoint_ends_the_run_and_leaves_the_previous_one() {
    // The temporary folder is `.iter_0000004.<pid>.tmp`, with the process id in the middle.
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
        let run = bench.folder("run");
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
    assert_eq!(bench.folder("run").checkpoints(), [""; 0]);
}

/// The arguments of a resume at the first of two checkpoints; the second is then written over.
const BACK: [&str; 4] = ["train", "config.toml", "--resume", "run/checkpoints/iter_0000002"];

#[test]
fn a_checkpoint_that_was_being_replaced_is_found_after_a_kill_between_two_renames() {
    // The last iteration of an epoch is saved twice: as an iteration, and when the epoch is done.
    let bench = Bench::new(
        "[default_hooks]\ntimer = false\ncheckpoint = { epoch_period = 1, iter_period = 2 }\n",
    );
    let whole = bench.trained("whole", &[]);
    let lacking = [("SYSTEM_LACKS", "exchange"), ("FAULT", "rename-kill"), ("FAULT_IN", ".old")];
    let ran = Ran::from(train(&bench, lacking));
    assert_eq!(ran.code, None, "it was not killed: {ran:?}");
    let run = bench.folder("run");
    assert_eq!(run.checkpoints(), ["iter_0000002.old"], "the only one there is");
    // Readers find it where it is, and by its own name too.
    for path in ["run", "run/checkpoints/iter_0000002"] {
        bench.run(["eval", "config.toml", "--checkpoint", path]).expect(0);
    }
    let (ran, run) = bench.train("run", &["--resume"]);
    ran.expect(0).says(&["iter_0000002 was being replaced when its run ended: keeping it"]);
    assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"]);
    assert_same(&whole, &run, "after a kill between two renames");
    // One that is in its place has no need of the old one.
    let old = run.path.join("checkpoints/iter_0000004.old");
    std::fs::create_dir(&old).unwrap();
    bench.train("run", &["--resume", "train.max_epochs=3"]).0.expect(0);
    assert!(!old.exists());
}

#[test]
fn checkpoints_are_replaced_even_without_atomic_exchange() {
    let bench = Bench::new("");
    let run = bench.trained("run", &[]);
    let tensors = || run.model(4);
    let before = tensors();
    Ran::of(layered(&bench, &BACK).env("SYSTEM_LACKS", "exchange")).expect(0);
    assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"]);
    assert_eq!(tensors(), before);
    assert!(!run.path.join("checkpoints/iter_0000004.old").exists());
}

#[test]
fn without_locks_a_warning_says_so_and_other_processes_files_are_left_alone() {
    let bench = Bench::new("");
    let run = bench.trained("run", &["train.max_epochs=1"]);
    // What looks left behind may be another process's at work.
    let theirs = run.path.join("checkpoints/.iter_0000009.1.tmp");
    std::fs::create_dir(&theirs).unwrap();
    let args = ["train", "config.toml", "--run-dir", "run", "--resume"];
    let mut command = layered(&bench, &args);
    Ran::of(command.env("SYSTEM_LACKS", "locks")).expect(0).says(&[
        "/run cannot be locked (No locks available",
        "make sure that no other process trains there",
    ]);
    assert!(theirs.exists());
    // With a lock it is known to be a leftover.
    bench.train("run", &["--resume", "train.max_epochs=3"]).0.expect(0);
    assert!(!theirs.exists());
}

#[test]
fn a_folder_is_on_the_disk_before_a_checkpoint_that_is_in_it() {
    let bench = Bench::new(&hook("TensorboardLoggerHook", ""));
    for (dir, more) in [("a/b/run", ""), ("c/run", "default_hooks.checkpoint.checkpoint_dir=d/e")] {
        let log = bench.path("log");
        let mut command = layered(&bench, &["train", "config.toml", "--run-dir", dir]);
        if !more.is_empty() {
            command.args(["-s", more]);
        }
        Ran::of(command.env("FAULT_LOG", &log)).expect(0);
        let log = bench.take("log");
        let lines: Vec<_> = log.lines().collect();
        let root = bench.path(".").canonicalize().unwrap();
        let made = lines.iter().enumerate().filter_map(|(at, line)| {
            let path = root.join(line.strip_prefix("mkdir ")?);
            (path.extension() != Some(OsStr::new("tmp"))).then_some((at, path))
        });
        let made: Vec<_> = made.collect();
        let has = |end: &str| made.iter().any(|(_, path)| path.ends_with(end));
        assert!(has(dir) && has("tb") && (has("checkpoints") || has("d/e")), "{log}");
        let saved = lines
            .iter()
            .position(|line| line.starts_with("rename ") && line.ends_with("iter_0000002"));
        for (at, path) in made {
            let synced = format!("sync {}", path.parent().unwrap().display());
            let is_synced = lines[at..saved.unwrap()].iter().any(|line| **line == synced);
            assert!(is_synced, "{} in\n{log}", path.display());
        }
    }
}

//! What a library cannot do while it is probed: write, connect, start or signal other processes.
//!
//! Three layers, each used as far as the kernel has it: resource limits (everywhere), Landlock (5.13) and seccomp. Probing
//! continues without those that are missing; docs/security.md says what is guaranteed.

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};

/// The seconds of computing after which the kernel ends a probe that the host did not.
const CPU_SECONDS: u64 = 300;
const MOST_MEMORY: u64 = 8 << 30;

/// Drops every privilege that a probe does not need. `copy` and `answer` stay open.
pub(super) fn enter(copy: BorrowedFd<'_>, answer: BorrowedFd<'_>) {
    // SAFETY: plain system calls about this process alone.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    close_all_but([copy.as_raw_fd(), answer.as_raw_fd()]);
    limit(libc::RLIMIT_CORE, 0);
    limit(libc::RLIMIT_FSIZE, 0);
    limit(libc::RLIMIT_CPU, CPU_SECONDS);
    limit(libc::RLIMIT_DATA, MOST_MEMORY);
    forbid_writing();
    forbid_calls();
}

fn limit(resource: libc::__rlimit_resource_t, most: u64) {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: a valid struct, and a limit of this process alone.
    unsafe { libc::setrlimit(resource, &raw const limit) };
}

/// Standard input, output and error become `/dev/null`; every other file is closed.
fn close_all_but(mut kept: [RawFd; 2]) {
    kept.sort_unstable();
    let close = |first: RawFd, last: libc::c_uint| {
        let first = first.cast_unsigned();
        if first <= last {
            // SAFETY: no Rust value of this fork uses a file besides the two that are kept.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    };
    // SAFETY: the path is a C string; `dup2` replaces files that this fork does not use.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        for standard in 0..=2 {
            libc::dup2(null, standard);
        }
    }
    let [low, high] = kept;
    close(3, (low - 1).cast_unsigned());
    close(low + 1, (high - 1).cast_unsigned());
    close(high + 1, libc::c_uint::MAX);
}

/// Landlock: no file system right but reading and executing, anywhere.
fn forbid_writing() {
    /// `LANDLOCK_ACCESS_FS_*` of the first version, without EXECUTE, READ_FILE and READ_DIR.
    const WRITING: u64 = 0b1_1111_1111_0010;
    /// REFER and TRUNCATE, of versions 2 and 3.
    const LATER: [(libc::c_long, u64); 2] = [(2, 1 << 13), (3, 1 << 14)];
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the call only tells the kernel's version of Landlock.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u64>(), 0_usize, VERSION)
    };
    if version < 1 {
        return;
    }
    let later = LATER.iter().filter(|(since, _)| version >= *since).map(|(_, right)| right);
    let handled: u64 = later.fold(WRITING, |all, right| all | right);
    // SAFETY: the attribute of the first version is one 64 bit number; a set without rules forbids what it handles.
    unsafe {
        let attribute = &raw const handled;
        let size = size_of::<u64>();
        let rules = libc::syscall(libc::SYS_landlock_create_ruleset, attribute, size, 0);
        if rules >= 0 {
            libc::syscall(libc::SYS_landlock_restrict_self, rules, 0);
        }
    }
}

/// seccomp: the calls that change files in ways Landlock does not know, and everything about other processes and networks.
fn forbid_calls() {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return };
    // Threads are made by `clone`, whose arguments a filter sees; C libraries use it where `clone3` is missing.
    let newer = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    for (rules, error) in [(newer, libc::ENOSYS), (forbidden(), libc::EPERM)] {
        let action = SeccompAction::Errno(error.cast_unsigned());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
        let program: Option<seccompiler::BpfProgram> =
            filter.ok().and_then(|filter| filter.try_into().ok());
        if let Some(program) = program {
            // A kernel without seccomp says so; the other layers hold.
            _ = seccompiler::apply_filter(&program);
        }
    }
}

fn forbidden() -> BTreeMap<i64, Vec<SeccompRule>> {
    let always = FORBIDDEN.iter().chain(LEGACY).map(|call| (*call, Vec::new()));
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = always.collect();
    // SAFETY: the call cannot fail and touches nothing.
    let own = u64::from(unsafe { libc::getpid() }.cast_unsigned());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, when(0, SeccompCmpOp::Ne, own));
    }
    let thread = u64::from(libc::CLONE_THREAD.cast_unsigned());
    rules.insert(libc::SYS_clone, when(0, SeccompCmpOp::MaskedEq(thread), 0));
    rules.insert(libc::SYS_openat, opening_to_write(2));
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, opening_to_write(1));
    rules
}

/// A rule about one argument; none where it cannot be made, which then forbids the call.
fn when(argument: u8, operation: SeccompCmpOp, value: u64) -> Vec<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value);
    let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
    rule.into_iter().collect()
}

fn opening_to_write(flags: u8) -> Vec<SeccompRule> {
    let [access, write, both, create, truncate] =
        [libc::O_ACCMODE, libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC]
            .map(|flag| u64::from(flag.cast_unsigned()));
    // A file that is opened for reading is truncated too if that is asked for.
    let cases = [(access, write), (access, both), (create, create), (truncate, truncate)];
    cases.into_iter().flat_map(|(mask, is)| when(flags, SeccompCmpOp::MaskedEq(mask), is)).collect()
}

const FORBIDDEN: &[i64] = &[
    libc::SYS_bpf,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_ftruncate,
    libc::SYS_io_uring_setup,
    libc::SYS_linkat,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_mount,
    libc::SYS_openat2,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_removexattr,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_setxattr,
    libc::SYS_socket,
    libc::SYS_symlinkat,
    libc::SYS_tkill,
    libc::SYS_truncate,
    libc::SYS_umount2,
    libc::SYS_unlinkat,
    libc::SYS_unshare,
    libc::SYS_utimensat,
];

/// Older calls that newer machines do not have.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_creat,
    libc::SYS_fork,
    libc::SYS_lchown,
    libc::SYS_link,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[i64] = &[];

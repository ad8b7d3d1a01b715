//! `train.keep_memory`: what a step frees is there for the next step, without a page fault.

use crate::workbench::Bench;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::fs;

/// Activations of 64 MiB: more than glibc keeps by itself.
const WIDE: &str = "[model]\ntype = \"MLP\"\nhidden = [16384]\n[loss]\ntype = \"CrossEntropy\"\n\
                    [data.train]\ntype = \"Digits\"\n[optimizer]\ntype = \"SGD\"\nlr = 0.01\n\
                    [train]\nmax_iters = 6\nbatch_size = 1024\nthreads = 1\n[default_hooks]\ncheckpoint = false\n";

/// The page faults of a run.
fn faults(bench: &Bench, keep: bool) -> u64 {
    let (run, set) = (format!("keep_{keep}"), format!("train.keep_memory={keep}"));
    let mut command = bench.command(["train", "config.toml", "--quiet", "--run-dir", &run, &set]);
    command.env_remove("MALLOC_MMAP_THRESHOLD_").env_remove("MALLOC_TRIM_THRESHOLD_");
    let mut child = command.spawn().unwrap();
    // Without reaping it: the kernel keeps its numbers until then.
    let id = WaitId::Pid(Pid::from_child(&child));
    waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    assert!(child.wait().unwrap().success());
    let after_name = stat.rsplit_once(") ").unwrap().1;
    after_name.split(' ').nth(7).unwrap().parse().unwrap()
}

#[test]
fn what_a_step_frees_is_used_again_without_page_faults() {
    const PAGES: u64 = 64 << 20 >> 12;
    let bench = Bench::of(WIDE);
    let (kept, returned) = (faults(&bench, true), faults(&bench, false));
    // At least one activation of each of the last five steps is mapped anew.
    assert!(kept + 4 * PAGES < returned, "{kept} page faults, and {returned} without keeping");
}

//! Failures that a run cannot prevent: a NaN, a full or read-only disk, exhausted memory, a data file that disappears. Each
//! ends the run cleanly: hooks are notified, the previous checkpoint stays and can be resumed from, and the first error is
//! reported.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

use crate::patience::output;
use crate::workbench::{Bench, Ran, SAVED, faulty, program};
use std::process::Command;

/// What every hook is still called at when a run fails.
const CLOSING: [&str; 4] = ["on_exception", "after_train", "after_run", "on_detach"];

/// A hook that records every point, after all others.
const RECORDER: &str = "[[custom_hooks]]\ntype = \"Recorder\"\nfile = \"calls\"\nlevel = 90\n";

/// A hook that has the shell run something after the third iteration, the first of the second epoch, when the checkpoint
/// of the first one is in its place.
fn shell(command: &str) -> String {
    let command = format!("iter = 3\nhow = 'shell'\ncommand = \"{SAVED}; sleep 0.1; {command}\"");
    faulty("bad", "after_train_iter", &command)
}

/// Asserts that a run failed with this error as its last line, and that every hook was notified.
#[track_caller]
fn failed(bench: &Bench, ran: &Ran, code: i32, error: &str) {
    ran.expect(code);
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("error: ") && last.contains(error),
        "{error} is not in:\n{}",
        ran.stderr
    );
    let points = bench.points("calls");
    assert_eq!(points[points.len() - 4..], CLOSING, "{error}");
}

/// Insists that `run.json` has the error, and that the run has these checkpoints.
#[track_caller]
fn left(bench: &Bench, error: &str, checkpoints: &[&str]) {
    let run = bench.folder("run");
    let record = run.record();
    assert_eq!(record["outcome"], "failed");
    assert!(record["why"].as_str().unwrap().contains(error), "{record}");
    assert_eq!(run.checkpoints(), checkpoints);
}

/// Asserts that the run resumes from an iteration and completes.
#[track_caller]
fn goes_on(bench: &Bench, from: &str, more: &[&str]) {
    let more: Vec<_> = ["--resume"].iter().chain(more).copied().collect();
    let (ran, run) = bench.train("run", &more);
    ran.expect(0);
    let record = run.record();
    assert!(record["resumed_from"].as_str().unwrap().ends_with(from), "{record}");
    assert_eq!(record["outcome"], "completed");
}

/// The second epoch's rate makes weights of 1e35: the forward pass after it overflows.
const DIVERGING: &str =
    "[lr_scheduler]\ntype = \"StepLR\"\nstep_size = 1\ngamma = 1e38\nby_epoch = true\n";

#[test]
fn a_nan_is_stopped_by_its_guard_before_the_weights_take_it_in() {
    let bench =
        Bench::new(&format!("{DIVERGING}{RECORDER}[[custom_hooks]]\ntype = \"NaNGuard\"\n"));
    let (ran, _) = bench.train("run", &[]);
    let error =
        "hook `NaNGuard` (built in) failed at after_forward, epoch 2, iteration 4: the loss is NaN";
    failed(&bench, &ran, 4, error);
    left(&bench, error, &["iter_0000002"]);
    goes_on(&bench, "iter_0000002", &["lr_scheduler.gamma=1.0"]);
}

#[test]
fn without_a_guard_a_nan_is_shown_and_never_best() {
    let bench = Bench::new(&format!(
        "{DIVERGING}[default_hooks]\ncheckpoint = {{ save_best = \"val/Loss\" }}\n[[metrics]]\ntype = \"Loss\"\n"
    ));
    let run = bench.trained("run", &[]);
    assert!(
        run.text("metrics.json").contains("\"val/Loss\":\"NaN\""),
        "{}",
        run.text("metrics.json")
    );
    assert_eq!(run.checkpoints(), ["iter_0000002", "iter_0000004"]);
    assert_eq!(run.text("checkpoints/best"), "iter_0000002\n");
}

#[test]
fn a_nan_in_fp16_ends_the_run_when_the_loss_scale_is_used_up() {
    let bench = Bench::new(&format!("{DIVERGING}{RECORDER}"));
    // Twice a thousandth of it, and it is none of the numbers that 32 bits have in full.
    let fp16 = ["train.precision=fp16", "train.loss_scaler={backoff_factor=0.001}"];
    let long = [&fp16[..], &["data.train.samples=200"]].concat();
    let (ran, _) = bench.train("run", &long);
    let error = "the loss scale";
    failed(&bench, &ran, 5, error);
    left(&bench, error, &["iter_0000050"]);
    goes_on(&bench, "iter_0000050", &[&long[..], &["lr_scheduler.gamma=1.0"]].concat());
}

/// Runs a script with mounts of its own; `None` where the system does not let us.
fn with_mounts(bench: &Bench, script: &str) -> Option<Ran> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command
            .current_dir(bench.path("."))
            .env_remove("LD_LIBRARY_PATH")
            .env("HOOKRACK", program());
        output(&mut command)
    };
    if !unshare("mount -t tmpfs none /mnt").is_ok_and(|tried| tried.status.success()) {
        println!("SKIPPED: this system does not let a test mount anything");
        return None;
    }
    Some(Ran::from(unshare(script).unwrap()))
}

#[test]
fn a_disk_that_is_full_ends_the_run_with_the_checkpoint_before() {
    let bench =
        Bench::new(&(RECORDER.to_owned() + &shell("dd if=/dev/zero of=run/ballast bs=1k || true")));
    let script = "mkdir run && mount -t tmpfs -o size=4m none run || exit 99\n\
                  \"$HOOKRACK\" train config.toml --run-dir run 2> errors; code=$?\n\
                  ls run/checkpoints > left; rm run/ballast\n\
                  \"$HOOKRACK\" train config.toml --run-dir run --resume -s custom_hooks.bad.at=nowhere || exit 98\n\
                  cp run/run.json . ; cat errors >&2; exit $code";
    let calls = bench.path("calls");
    let Some(ran) = with_mounts(&bench, &script.replace("ls run", "cp calls first; ls run")) else {
        return;
    };
    std::fs::rename(bench.path("first"), calls).unwrap();
    failed(&bench, &ran, 6, "No space left on device");
    ran.says(&["could not ", ".iter_0000004."]);
    assert_eq!(bench.read("left"), "iter_0000002\nlatest\n");
    let record = bench.read("run.json");
    assert!(record.contains("\"completed\"") && record.contains("iter_0000002"), "{record}");
}

#[test]
fn a_folder_that_becomes_read_only_ends_the_run_with_the_checkpoint_before() {
    let bench =
        Bench::new(&(RECORDER.to_owned() + &shell("mount -t tmpfs -o ro none run/checkpoints")));
    let script = "exec \"$HOOKRACK\" train config.toml --run-dir run";
    let Some(ran) = with_mounts(&bench, script) else { return };
    let error = "Read-only file system";
    failed(&bench, &ran, 6, error);
    left(&bench, error, &["iter_0000002"]);
    goes_on(&bench, "iter_0000002", &["custom_hooks.bad.at=nowhere"]);
}

#[test]
fn a_folder_that_is_read_only_is_reported_before_anything_is_trained() {
    let bench = Bench::new(RECORDER);
    let script = "mkdir run && mount -t tmpfs -o ro none run || exit 99\n\
                  exec \"$HOOKRACK\" train config.toml --run-dir run/here";
    let Some(ran) = with_mounts(&bench, script) else { return };
    ran.expect(6).says(&["error: could not create run/here: Read-only file system"]);
    assert_eq!(bench.read("calls"), "");
}

#[test]
fn memory_that_is_out_in_a_step_ends_the_run_with_the_checkpoint_before() {
    let bench =
        Bench::new(&format!("{RECORDER}[default_hooks]\ncheckpoint = {{ iter_period = 1 }}\n"));
    // 20000 rows of 200000 numbers are 16 GB; the weights are small.
    let large = ["model.hidden=[200000]", "data.val.samples=20000", "data.val.batch_size=20000"];
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 4000000 && exec \"$0\" \"$@\""]).arg(program());
    command.args(["train", "config.toml", "--run-dir", "run"]);
    command.args(large.iter().flat_map(|set| ["-s", set]));
    command.current_dir(bench.path(".")).env_remove("LD_LIBRARY_PATH");
    let ran = Ran::of(&mut command);
    let error = "failed at on_val_forward, epoch 1, iteration 2: out of memory: could not allocate 16000000000 bytes";
    failed(&bench, &ran, 5, error);
    left(&bench, error, &["iter_0000001", "iter_0000002"]);
    let small = [large[0], "data.val.samples=8", "data.val.batch_size=4"];
    goes_on(&bench, "iter_0000002", &small);
}

#[test]
fn too_little_memory_for_a_checkpoint_ends_the_run_and_leaves_the_previous_one() {
    // Weights of 128 MB and twice as much of AdamW's. The third iteration finds room for small things alone, and memory
    // for its copy was not got ahead: the process is another one than that of the first two.
    let limit = "size=$(sed -n 's/VmSize: *\\\\([0-9]*\\\\) kB/\\\\1/p' /proc/$PPID/status); \
                 prlimit --pid $PPID --as=$(( (size + 100000) * 1024 ))";
    let bench = Bench::new(&format!(
        "{RECORDER}[default_hooks]\ncheckpoint = {{ iter_period = 1 }}\n{}",
        shell(limit)
    ));
    // Memory that was freed and kept would be room.
    let wide = ["model.hidden=[4000000]", "train.keep_memory=false"];
    bench.trained("run", &[&wide[..], &["--until", "2"]].concat());
    let (ran, _) = bench.train("run", &[&wide[..], &["--resume"]].concat());
    let error = "out of memory: a copy of the tensors to write needs 128";
    failed(&bench, &ran, 6, error);
    left(&bench, error, &["iter_0000001", "iter_0000002"]);
    let more = [&wide[..], &["custom_hooks.bad.at=nowhere"]].concat();
    goes_on(&bench, "iter_0000002", &more);
}

/// A folder with 200 grey pictures of 28 by 28 in MNIST's format, and a run of 100 iterations over them.
fn pictures(more: &str) -> Bench {
    let bench = Bench::bare();
    let word = |number: u32| number.to_be_bytes();
    let header = |kind: [u8; 4], sides: &[u32]| {
        [kind.to_vec(), sides.iter().flat_map(|side| word(*side)).collect()].concat()
    };
    let images = [header([0, 0, 8, 3], &[200, 28, 28]), vec![200; 200 * 28 * 28]].concat();
    let labels = [header([0, 0, 8, 1], &[200]), (0..200).map(|label| label % 3).collect()].concat();
    std::fs::write(bench.path("images"), images).unwrap();
    std::fs::write(bench.path("labels"), labels).unwrap();
    bench.write(
        "config.toml",
        &format!(
            "[run]\nname = \"run\"\n[plugins]\ndirs = [\"plugins\"]\n[model]\ntype = \"MLP\"\nhidden = [8]\n\
             [data.train]\ntype = \"IdxImages\"\nimages = \"images\"\nlabels = \"labels\"\n\
             [loss]\ntype = \"CrossEntropy\"\n[optimizer]\ntype = \"SGD\"\n\
             [train]\nmax_epochs = 2\nbatch_size = 4\nthreads = 1\n\
             [default_hooks]\ncheckpoint = {{ iter_period = 2, max_num_checkpoints = 1 }}\n{RECORDER}{more}"
        ),
    );
    bench
}

#[test]
fn a_truncated_data_file_ends_the_run_without_killing_the_process() {
    // Cut within a page, which reads as zeros, and by pages, which is SIGBUS.
    for (length, workers) in [("156000", "0"), ("1000", "0"), ("1000", "2")] {
        let bench = pictures(&shell(&format!("cp images whole && truncate -s {length} images")));
        let workers = format!("data.train.workers={workers}");
        let (ran, _) = bench.train("run", &[&workers]);
        let error = format!("images: it was truncated from 156816 to {length} bytes while in use");
        failed(&bench, &ran, 5, &error);
        let run = bench.folder("run");
        assert!(run.record()["why"].as_str().unwrap().contains(&error), "{}", run.record());
        let kept = run.checkpoints();
        assert_eq!(kept.len(), 1, "{kept:?}");
        std::fs::rename(bench.path("whole"), bench.path("images")).unwrap();
        goes_on(&bench, &kept[0], &["custom_hooks.bad.at=nowhere"]);
    }
}

#[test]
fn a_data_file_that_is_removed_is_read_on_until_the_run_ends() {
    let bench = pictures(&shell("rm images"));
    bench.trained("run", &[]);
    bench.train("run", &["--resume"]).0.expect(2).says(&[
        "cannot read",
        "/images",
        "check the path",
    ]);
}

#[test]
fn a_data_file_that_is_overwritten_at_its_length_is_reported_at_the_next_start() {
    let bench = pictures(&shell("dd if=/dev/zero of=images seek=1 count=9 conv=notrunc"));
    bench.trained("run", &[]);
    let again = |epochs: &str| {
        let (ran, _) = bench.train("run", &["--resume", epochs, "custom_hooks.bad.at=nowhere"]);
        ran.expect(0);
        ran.stderr
    };
    let told = again("train.max_epochs=3");
    assert!(told.contains("/images: 156816 bytes, modified at another time was 156816"), "{told}");
    assert!(!told.contains("/labels"), "{told}");
    let told = again("train.max_epochs=4");
    assert!(!told.contains("/images"), "it is as it was when this run was last taken up: {told}");
}

/// One grey pixel.
const PNG: &[u8] = b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\
    \x08\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0a\x49\x44\x41\x54\x78\x9c\x63\x68\x00\x00\x00\
    \x82\x00\x81\x77\xcd\x72\xb6\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

#[test]
fn a_picture_that_is_gone_ends_the_run_with_its_name() {
    let bench = pictures(&shell("rm pictures/0/3.png"));
    for class in 0..2 {
        std::fs::create_dir_all(bench.path(&format!("pictures/{class}"))).unwrap();
        for number in 0..20 {
            std::fs::write(bench.path(&format!("pictures/{class}/{number}.png")), PNG).unwrap();
        }
    }
    let idx = "type = \"IdxImages\"\nimages = \"images\"\nlabels = \"labels\"\n";
    let folder = "type = \"ImageFolder\"\ndir = \"pictures\"\nsize = [4, 4]\nchannels = 1\n";
    bench.replace(idx, folder);
    let (ran, run) = bench.train("run", &[]);
    failed(&bench, &ran, 5, "pictures/0/3.png");
    std::fs::write(bench.path("pictures/0/3.png"), PNG).unwrap();
    goes_on(&bench, &run.checkpoints()[0], &["custom_hooks.bad.at=nowhere"]);
}

#[test]
fn a_second_sigint_ends_the_process_at_once() {
    let bench = Bench::new(
        &(RECORDER.to_owned() + &shell("kill -INT $PPID; sleep 0.3; kill -INT $PPID; sleep 20")),
    );
    let (ran, run) = bench.train("run", &[]);
    ran.expect(130);
    assert_eq!(run.checkpoints(), ["iter_0000002"], "nothing is saved");
    assert_eq!(run.record()["outcome"], "running", "nothing is recorded");
    assert!(!bench.read("calls").contains("after_run"));
    goes_on(&bench, "iter_0000002", &["custom_hooks.bad.at=nowhere"]);
}

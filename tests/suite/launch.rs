//! Several ranks on this machine: `hookrack launch` starts them, watches them, and leaves none behind.

use crate::patience::{signal, until, wait};
use crate::workbench::{Bench, Ran};
use std::fs::{self, File};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A hook that has the shell run something at an iteration.
fn shell(iter: u64, command: &str) -> String {
    format!(
        "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"bad\"\nfile = \"own\"\nat = \"before_train_iter\"\niter = {iter}\n\
         on_error = \"abort\"\nhow = \"shell\"\ncommand = '''{command}'''\n"
    )
}

/// Waits for a file, for a minute at most.
fn wait_for(file: &str) -> String {
    format!("for i in $(seq 6000); do test -e {file} && break; sleep 0.01; done")
}

/// The program in the folder of a bench, with a mark in its environment by which it and all that it starts are known.
fn command(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.command(args);
    command.env("HOOKRACK_TEST_MARK", bench.path(""));
    command
}

/// The processes that a bench's commands have left, by their command lines.
fn left(bench: &Bench) -> Vec<String> {
    let mark = format!("HOOKRACK_TEST_MARK={}\0", bench.path("").display());
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let has_mark = |path: &std::path::PathBuf| {
        let variables = fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&variables).contains(&mark)
    };
    let marked = processes.filter(has_mark);
    marked.map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default()).collect()
}

fn launch(bench: &Bench, args: &[&str]) -> Ran {
    let all: Vec<_> = ["launch"].iter().chain(args).copied().collect();
    Ran::of(&mut command(bench, &all))
}

#[test]
fn a_command_line_that_cannot_be_launched_is_a_usage_error() {
    let bench = Bench::new("");
    for (args, wanted) in [
        (&["-n", "0", "--", "train", "config.toml"][..], "invalid value '0' for '--ranks <N>'"),
        (&["-n", "2"], "required arguments were not provided"),
        (&["--", "train", "config.toml"], "--ranks <N>"),
        (&["-n", "2", "--", "train"], "no config: use `hookrack train CONFIG`"),
        (&["-n", "2", "--", "train", "config.toml", "--quick"], "unexpected argument '--quick'"),
        (
            &["-n", "2", "--", "plan", "config.toml"],
            "launch starts `train`, `eval` and `predict` over data, not `plan`: use `hookrack launch -n 2 -- train CONFIG`",
        ),
        (&["-n", "2", "--", "train", "none.toml"], "none.toml"),
    ] {
        launch(&bench, args).expect(2).says(&[wanted]);
    }
    let mut inside = command(&bench, &["launch", "-n", "2", "--", "train", "config.toml"]);
    let variables =
        [("RANK", "1"), ("WORLD_SIZE", "4"), ("MASTER_ADDR", "a"), ("MASTER_PORT", "7")];
    Ran::of(inside.envs(variables)).expect(2).says(&[
        "this process is rank 1 of 4 already (RANK and WORLD_SIZE): start `hookrack train` there, without launch",
    ]);
}

#[test]
fn a_batch_that_the_ranks_cannot_divide_is_reported_once_at_its_line() {
    let bench = Bench::new("");
    let ran = launch(&bench, &["-n", "3", "--", "train", "config.toml"]);
    ran.expect(2).says(&[
        "a batch of 4 cannot be divided among 3 ranks",
        "batch_size = 4",
        "use a batch size of 3 or 6, or 2 or 4 ranks",
    ]);
    assert_eq!(ran.stderr.matches("cannot be divided").count(), 1, "{}", ran.stderr);
    assert!(!bench.path("runs").exists(), "nothing was started");
}

#[test]
fn lines_start_with_their_rank_unless_they_are_json() {
    let bench = Bench::new("");
    let ran = launch(&bench, &["-n", "1", "--", "train", "config.toml", "--run-dir", "a"]);
    let folder = bench.path("a").canonicalize().unwrap();
    ran.expect(0).prints(&[&format!("[0] run directory: {}\n", folder.display())]);
    assert!(ran.stdout.lines().all(|line| line.starts_with("[0] ")), "{}", ran.stdout);
    let ran = launch(&bench, &["-n", "1", "--", "train", "config.toml", "--json"]);
    ran.expect(0);
    for line in ran.stdout.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|_| panic!("{line}"));
    }
}

#[test]
fn the_rank_that_fails_first_is_reported_and_its_code_is_the_launchers() {
    let ready = wait_for("ready0");
    let bench = Bench::new(&shell(
        1,
        &format!("if [ $RANK = 0 ]; then touch ready0; else {ready}; false; fi"),
    ));
    let ran = launch(&bench, &["-n", "2", "--", "train", "config.toml", "--fast-dev-run"]);
    ran.expect(4).says(&[
        "[1] error: hook `bad` (",
        "error: rank 1 failed with exit code 4; its last lines:\n",
    ]);
    let told = ran.stderr.split("its last lines:\n").nth(1).unwrap();
    assert!(told.trim_start().starts_with("error: hook `bad` ("), "{}", ran.stderr);
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn ten_launches_at_once_do_not_take_each_others_ports() {
    let bench = Bench::new("");
    let args = ["launch", "-n", "2", "--", "train", "config.toml", "--fast-dev-run", "--quiet"];
    let start = |_| {
        let mut launch = command(&bench, &args);
        launch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut launches: Vec<Child> = (0..10).map(start).collect();
    let codes: Vec<_> = launches.iter_mut().map(|launch| wait(launch).code()).collect();
    assert_eq!(codes, [Some(0); 10]);
}

#[test]
fn a_port_that_is_taken_is_an_error_before_anything_starts() {
    let bench = Bench::new("");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = launch(&bench, &["-n", "2", "--port", &port, "--", "train", "config.toml"]);
    assert_ne!(ran.code, Some(0));
    ran.says(&[&format!("could not open port {port} for the ranks: ")]);
    assert!(!ran.stderr.contains("[0]"), "{}", ran.stderr);
}

/// Starts a launch whose messages go to the file `said`.
fn begin(bench: &Bench, args: &[&str]) -> Child {
    let all: Vec<_> = ["launch"].iter().chain(args).copied().collect();
    let mut launch = command(bench, &all);
    let file = |name| File::create(bench.path(name)).unwrap();
    launch.stderr(file("said")).stdout(file("printed")).spawn().unwrap()
}

/// Two ranks that wait in a hook until the file `go` exists.
fn waiting() -> (Bench, Child) {
    let bench = Bench::new(&shell(1, &format!("touch up$RANK; {}", wait_for("go"))));
    let args = ["-n", "2", "--restarts", "3", "--", "train", "config.toml", "--fast-dev-run"];
    let launcher = begin(&bench, &args);
    until("both ranks train", || (0..2).all(|rank| bench.path(&format!("up{rank}")).exists()));
    (bench, launcher)
}

/// Interrupts a launcher, and waits until both ranks know.
fn interrupt(bench: &Bench, launcher: &Child) {
    signal(launcher, "INT");
    let knows = |rank| {
        let said = bench.read("said");
        said.lines().any(|line| line.starts_with(rank) && line.contains("interrupted: stopping"))
    };
    until("both ranks know", || knows("[0] ") && knows("[1] "));
}

#[test]
fn a_signal_is_forwarded_to_all_ranks_which_end_by_themselves() {
    let (bench, mut launcher) = waiting();
    interrupt(&bench, &launcher);
    bench.write("go", "");
    let said = bench.read("said");
    assert_eq!(wait(&mut launcher).code(), Some(130), "{said}");
    assert!(!bench.read("said").contains("restarting all ranks"), "{said}");
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn a_second_signal_ends_all_ranks_at_once() {
    let (bench, mut launcher) = waiting();
    interrupt(&bench, &launcher);
    signal(&launcher, "INT");
    assert_eq!(wait(&mut launcher).code(), Some(130), "{}", bench.read("said"));
    assert_eq!(left(&bench), [""; 0]);
}

#[test]
fn a_run_that_is_terminated_has_saved() {
    let bench = Bench::new("");
    let longer = ["train.max_epochs=1000000", "--run-dir", "run"];
    let args: Vec<_> =
        ["-n", "1", "--", "train", "config.toml"].into_iter().chain(longer).collect();
    let mut launcher = begin(&bench, &args);
    until("it trains", || bench.path("run/checkpoints/latest").exists());
    signal(&launcher, "TERM");
    assert_eq!(wait(&mut launcher).code(), Some(143), "{}", bench.read("said"));
    let record = bench.folder("run").record();
    assert_eq!((&record["outcome"], &record["why"]), (&"interrupted".into(), &"SIGTERM".into()));
}

#[test]
fn ranks_do_not_outlive_a_launcher_that_is_killed() {
    let bench = Bench::new("");
    let longer = ["--fast-dev-run", "250000", "data.train.samples=1000000"];
    let args: Vec<_> =
        ["-n", "2", "--", "train", "config.toml"].into_iter().chain(longer).collect();
    let mut launcher = begin(&bench, &args);
    until("they train", || bench.read("printed").contains("[0] fast dev run"));
    assert_eq!(left(&bench).len(), 3);
    signal(&launcher, "KILL");
    wait(&mut launcher);
    until("no rank is left", || left(&bench).is_empty());
}

/// Kills the rank, once: a restart finds the file.
fn dies_once(iter: u64, first: &str) -> String {
    shell(iter, &format!("test -e died || {{ touch died; {first}; kill -KILL $PPID; }}"))
}

#[test]
fn a_restart_resumes_the_run_from_its_checkpoint_by_the_same_command_line() {
    let other = Bench::new("");
    let undisturbed = other.trained("run", &[]);
    let bench = Bench::new(&dies_once(3, &wait_for("runs/run-2/checkpoints/latest")));
    // Another run has the name.
    fs::create_dir_all(bench.path("runs/run")).unwrap();
    let ran = launch(&bench, &["-n", "1", "--restarts", "2", "--", "train", "config.toml"]);
    ran.expect(0).says(&["rank 0 was killed by SIGKILL", "restarting all ranks (1 of 2)"]);
    let run = bench.folder("runs/run-2");
    let record = run.record();
    assert_eq!(record["outcome"], "completed");
    assert!(record["resumed_from"].as_str().unwrap().ends_with("iter_0000002"), "{record}");
    assert_eq!(run.model(4), undisturbed.model(4));
    assert_eq!(fs::read_dir(bench.path("runs")).unwrap().count(), 2);
}

#[test]
fn a_restart_without_a_checkpoint_starts_over() {
    let other = Bench::new("");
    let undisturbed = other.trained("run", &[]);
    let bench = Bench::new(&dies_once(1, "true"));
    let args = ["-n", "1", "--restarts", "1", "--", "train", "config.toml", "--run-dir", "run"];
    launch(&bench, &args).expect(0);
    let run = bench.folder("run");
    assert_eq!(run.record()["resumed_from"], serde_json::Value::Null);
    assert_eq!(run.scalars().len(), undisturbed.scalars().len());
    // A run that starts from a checkpoint elsewhere starts from there again.
    let bench = Bench::new(&dies_once(5, "true"));
    let from = undisturbed.path.join("checkpoints/iter_0000004");
    let from = from.to_str().unwrap();
    let more = ["--run-dir", "more", "--resume", from, "train.max_epochs=3"];
    let args: Vec<_> = args[..7].iter().chain(&more).copied().collect();
    launch(&bench, &args).expect(0).says(&["restarting all ranks"]);
    let record = bench.folder("more").record();
    assert_eq!((&record["outcome"], &record["iter"]), (&"completed".into(), &6.into()));
    assert!(record["resumed_from"].as_str().unwrap().ends_with("iter_0000004"), "{record}");
}

#[test]
fn a_config_error_is_not_tried_again() {
    let bench = Bench::new("");
    let args = ["-n", "1", "--restarts", "5", "--", "train", "config.toml", "train.batch_size=16"];
    let ran = launch(&bench, &args);
    ran.expect(2).says(&["rank 0 failed with exit code 2; its last lines:\n"]);
    assert!(!ran.stderr.contains("again"), "{}", ran.stderr);
    assert!(!bench.path("runs/run").exists(), "the folder that was made for it is gone");
}

#[test]
fn a_restart_by_torchrun_resumes_in_the_run_directory_that_is_given() {
    let bench = Bench::new("");
    let torchrun = [("RANK", "0"), ("WORLD_SIZE", "1"), ("TORCHELASTIC_RUN_ID", "none")];
    let train = |args: &[&str], restart: &str| {
        let all: Vec<_> = ["train", "config.toml"].iter().chain(args).copied().collect();
        let mut train = command(&bench, &all);
        train.envs(torchrun).env("TORCHELASTIC_MAX_RESTARTS", "3");
        Ran::of(train.env("TORCHELASTIC_RESTART_COUNT", restart))
    };
    train(&[], "0").expect(2).says(&[
        "torchrun may restart this run, and a restart must find its directory: add --run-dir DIR, or --resume",
    ]);
    train(&["--run-dir", "run", "--until", "3"], "0").expect(0);
    train(&["--run-dir", "run"], "1").expect(0).prints(&["resuming from"]);
    let record = bench.folder("run").record();
    assert_eq!((&record["outcome"], &record["iter"]), (&"completed".into(), &4.into()));
    train(&["--run-dir", "run"], "2").expect(0).prints(&["is complete", "nothing to do"]);
    Ran::of(command(&bench, &["train", "config.toml"]).env("RANK", "0"))
        .expect(2)
        .says(&["RANK = 0 is set, but WORLD_SIZE is not: set both or neither"]);
}

#[test]
fn a_plan_of_ranks_says_what_each_would_take_and_starts_none() {
    // 7 samples in batches of 4: a last batch of 3, of which the first rank has more.
    let bench = Bench::new("[lr_scheduler]\ntype = \"ConstantLR\"\n");
    let args = ["plan", "config.toml", "--ranks", "2", "data.train.samples=7"];
    let ran = Ran::of(&mut command(&bench, &args));
    ran.expect(0).prints(&[
        "batches of 4, shared by 2 ranks\n7 samples in 2 iterations per epoch\n",
        "0                         2              2              4\n",
        "1                         2              1              3\n",
        "memory per rank: ",
    ]);
    let ran = Ran::of(command(&bench, &args).arg("--json"));
    let plan = ran.expect(0).json();
    // An MLP of 4 inputs, 8 hidden units and 3 classes; AdamW has two moments of each number, and a count for each tensor.
    let bytes = (4 * 8 + 8 + 8 * 3 + 3) * 4;
    assert_eq!(plan["bucket_bytes"], serde_json::json!([bytes]));
    assert_eq!(plan["wire_bytes_per_iteration"], bytes);
    let memory = serde_json::json!(
        { "parameters": bytes, "buffers": 0, "gradients": bytes, "optimizer": 2 * bytes + 4 * 4 }
    );
    assert_eq!(plan["memory_bytes"], memory);
    assert_eq!(
        (&plan["shares"][1]["first_rank"], &plan["shares"][1]["last_rank"]),
        (&1.into(), &1.into())
    );
    assert!(!bench.path("runs").exists());
    // Gradients are sent in half precision, parameters that a sharded optimizer has stepped are not.
    let sent = |more: &[&str]| {
        let args = [&args[..], &["--json", "distributed.fp16_compression=true"], more];
        let ran = Ran::of(&mut command(&bench, &args.concat()));
        let plan = ran.expect(0).json();
        plan["wire_bytes_per_iteration"].clone()
    };
    assert_eq!(sent(&[]), bytes / 2);
    assert_eq!(sent(&["optimizer.shard=true"]), bytes);
    let args = ["plan", "config.toml", "--ranks", "3"];
    Ran::of(&mut command(&bench, &args)).expect(2).says(&[
        "a batch of 4 cannot be divided among 3 ranks",
        "use a batch size of 3 or 6, or 2 or 4 ranks",
    ]);
}

#[test]
fn a_plan_of_ranks_adds_up_the_batches_of_an_iteration() {
    // 15 samples in batches of 4: iterations of 8 and 7 samples.
    let bench = Bench::new("");
    let args = ["plan", "config.toml", "--ranks", "2", "data.train.samples=15"];
    let args = [&args[..], &["train.accumulate_grad_batches=2"]].concat();
    Ran::of(&mut command(&bench, &args)).expect(0).prints(&[
        "15 samples in 2 iterations per epoch, 2 batches each\n",
        "RANKS         SAMPLES/BATCH  IN LAST BATCH   SAMPLES/ITER  SAMPLES/EPOCH\n",
        "0                         2              2              4              8\n",
        "1                         2              1              4              7\n",
    ]);
    let ran = Ran::of(command(&bench, &args).arg("--json"));
    let plan = ran.expect(0).json();
    assert_eq!(plan["shares"][1]["samples_per_iteration"], 4);
    // Fewer batches than an iteration would have.
    let few = [&args[..4], &["--json", "train.accumulate_grad_batches=9"]].concat();
    let ran = Ran::of(&mut command(&bench, &few));
    let plan = ran.expect(0).json();
    let share = &plan["shares"][0];
    assert_eq!(share["samples_per_iteration"], share["samples_per_epoch"]);
}

#[test]
fn a_plan_of_ranks_has_the_buckets_of_the_reducer() {
    let bench = Bench::new("");
    let wide = ["--ranks", "2", "--json", "model.hidden=[512, 512, 512, 512]"];
    let args: Vec<_> = ["plan", "config.toml"].into_iter().chain(wide).collect();
    let ran = Ran::of(&mut command(&bench, &args));
    let plan = ran.expect(0).json();
    // From the last layer on: a bucket is full once it has 1 MiB, the others have 25.
    let layer = |inputs, outputs| (inputs * outputs + outputs) * 4;
    let first = layer(512, 3) + layer(512, 512);
    let second = 2 * layer(512, 512) + layer(4, 512);
    assert_eq!(plan["bucket_bytes"], serde_json::json!([first, second]));
}

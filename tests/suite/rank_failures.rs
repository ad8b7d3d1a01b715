//! A rank that stops, does not start or has another config is named by every other rank, which exits; the run can be resumed.

use crate::patience::{signal, until, wait};
use crate::workbench::{Bench, Ran, faulty, hook};
use std::fs::{self, File};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Instant;

/// Batches of 6, for one, two or three ranks.
const SETTINGS: [&str; 3] = [
    "train.batch_size=6",
    "data.train.samples=60",
    "default_hooks.checkpoint={epoch_period=0,iter_period=5,max_num_checkpoints=2}",
];

/// Ranks that are started without a launcher.
struct World<'a> {
    bench: &'a Bench,
    size: usize,
    port: u16,
    timeout: &'a str,
}

impl<'a> World<'a> {
    fn new(bench: &'a Bench, size: usize, timeout: &'a str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { bench, size, port, timeout }
    }

    /// Starts a rank; its output goes to a file.
    fn start(&self, rank: usize, more: &[&str]) -> Child {
        let train = ["train", "config.toml", "--run-dir", "run"];
        let mut command = self.bench.command(train.iter().chain(&SETTINGS).chain(more));
        let numbers = [("RANK", rank), ("LOCAL_RANK", rank)];
        let sizes = [("WORLD_SIZE", self.size), ("LOCAL_WORLD_SIZE", self.size)];
        for (variable, value) in numbers.into_iter().chain(sizes) {
            command.env(variable, value.to_string());
        }
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", self.port.to_string());
        command.env("HOOKRACK_TIMEOUT", self.timeout);
        command.stderr(File::create(self.bench.path(&format!("said_{rank}"))).unwrap());
        command.stdout(Stdio::null()).spawn().unwrap()
    }

    fn said(&self, rank: usize) -> String {
        self.bench.read(&format!("said_{rank}"))
    }
}

/// Checks that standard error has no output of libtorch.
#[track_caller]
fn assert_plain(said: &str) {
    for mark in ["[W", "[E", "[c10d]", "Exception raised", "frame #"] {
        assert!(!said.contains(mark), "`{mark}`: output of libtorch in:\n{said}");
    }
}

#[test]
fn a_rank_that_is_stopped_is_named_by_every_other_one_within_the_timeout() {
    let last = "how = 'shell'\ncommand = 'touch ended$RANK'";
    let bench = Bench::new(&faulty("last", "after_train", last));
    // Long enough to start on a loaded machine.
    let world = World::new(&bench, 3, "20");
    let mut ranks = [0, 1, 2].map(|rank| world.start(rank, &["train.max_epochs=1000000"]));
    until("the ranks train", || bench.path("run/checkpoints/latest").exists());
    signal(&ranks[1], "STOP");
    let stopped = Instant::now();
    let is_named = |rank| world.said(rank).contains("stopped responding");
    until("both others name it", || is_named(0) && is_named(2));
    assert!(stopped.elapsed().as_secs() < 20, "named after {:?}", stopped.elapsed());
    for rank in [0, 2] {
        let code = wait(&mut ranks[rank]).code();
        let said = world.said(rank);
        assert_eq!(code, Some(7), "rank {rank}: {said}");
        for wanted in [
            "rank 1 (",
            ") stopped responding; its last known position was iteration ",
            "; this rank waited in iteration ",
            ", collective all_",
        ] {
            assert!(said.contains(wanted), "rank {rank}, {wanted}: {said}");
        }
        assert_plain(&said);
        assert!(bench.path(&format!("ended{rank}")).exists(), "rank {rank} ran after_train");
        let flight = bench.json(&format!("run/ranks/rank_{rank}.flight.json"));
        assert!(flight["entries"].as_array().is_some_and(|it| !it.is_empty()), "{flight}");
    }
    ranks[1].kill().unwrap();
    wait(&mut ranks[1]);
    let last = bench.read("run/checkpoints/latest");
    let next = last.trim().trim_start_matches("iter_").parse::<u64>().unwrap() + 1;
    let next = next.to_string();
    let args = ["train", "config.toml", "--run-dir", "run", "--resume", "--until", &next];
    let longer = ["train.max_epochs=1000000"];
    bench.run(args.iter().chain(&SETTINGS).chain(&longer)).expect(0).prints(&["resuming from"]);
}

/// One rank is killed in iteration 3; every other one names it long before the timeout.
#[test]
fn a_rank_that_is_killed_is_named_by_every_other_one_also_rank_0() {
    for victim in [1, 0] {
        let dies = format!("iter = 3\nhow = 'sigkill'\nrank = {victim}");
        let bench = Bench::new(&faulty("dies", "before_train_iter", &dies));
        let world = World::new(&bench, 3, "300");
        let mut ranks = [0, 1, 2].map(|rank| world.start(rank, &[]));
        assert_eq!(wait(&mut ranks[victim]).code(), None);
        let killed = Instant::now();
        for rank in [0, 1, 2].into_iter().filter(|rank| *rank != victim) {
            let (code, said) = (wait(&mut ranks[rank]).code(), world.said(rank));
            assert_eq!(code, Some(7), "rank {rank}: {said}");
            let seconds = killed.elapsed().as_secs();
            assert!(seconds < 60, "rank {rank} exited after {seconds} s: {said}");
            for wanted in [
                &format!("rank {victim} ("),
                // A heartbeat is up to half a second old, and the collective at the end of iteration 2 may still run here.
                ") stopped responding; its last known position was ",
                "; this rank waited in iteration ",
            ] {
                assert!(said.contains(wanted), "rank {rank}, {wanted}: {said}");
            }
            assert_plain(&said);
        }
    }
}

#[test]
fn a_rank_that_is_stopped_under_launch_is_named_and_does_not_stay_behind() {
    let stops = "iter = 3\nhow = 'shell'\n\
                 command = 'test $RANK = 0 || { echo $PPID >stopped; kill -STOP $PPID; }'";
    let bench = Bench::new(&faulty("stops", "before_train_iter", stops));
    let launch =
        ["launch", "-n", "2", "--grace", "1", "--", "train", "config.toml", "--run-dir", "run"];
    let mut command = bench.command(launch.iter().chain(&SETTINGS));
    let ran = Ran::of(command.env("HOOKRACK_TIMEOUT", "10"));
    ran.expect(7)
        .says(&["rank 1 (", ") stopped responding; its last known position was iteration"]);
    let pid = bench.read("stopped");
    let left = fs::read_to_string(format!("/proc/{}/cmdline", pid.trim()));
    assert!(!left.is_ok_and(|it| it.contains("config.toml")), "rank 1 is still there");
}

/// On rank 1 a hook cannot be made. The others are about to form a process group, in which they would wait for it until the timeout.
#[test]
fn a_rank_that_cannot_start_is_named_at_once() {
    let bench = Bench::new(&hook("Picky", "name = 'p'\ncolour = 'red on rank 0'"));
    let world = World::new(&bench, 3, "600");
    let began = Instant::now();
    let mut ranks = [0, 1, 2].map(|rank| world.start(rank, &[]));
    let codes = ranks.each_mut().map(|rank| wait(rank).code());
    let said = [0, 1, 2].map(|rank| world.said(rank));
    // Ranks 1 and 2 fail alike; the one that is named is the first of them.
    assert_eq!(codes, [Some(7), Some(2), Some(2)], "{said:?}");
    let seconds = began.elapsed().as_secs();
    assert!(seconds < 200, "{seconds} s, a third of the timeout");
    for wanted in [") failed in iteration 0: ", "`red on rank 0` is not a colour"] {
        assert!(said[0].contains(wanted), "{wanted}: {}", said[0]);
    }
    assert_plain(&said[0]);
    let record = bench.json("run/run.json");
    assert_eq!(record["outcome"], "failed");
}

/// Kills rank 1 in iteration 3, before a hook in which all ranks wait for each other.
const DIES: &str = "[[custom_hooks]]\ntype = \"Faulty\"\nname = \"dies\"\nfile = \"own\"\nat = \"after_train_iter\"\n\
                    iter = 3\nhow = \"shell\"\ncommand = \"test $RANK = 0 || kill -9 $PPID\"\n\
                    [[custom_hooks]]\ntype = \"Faulty\"\nname = \"sums\"\nfile = \"sums\"\nat = \"after_train_iter\"\n\
                    how = \"collective\"\non_error = \"abort\"\n";

#[test]
fn a_rank_that_dies_while_a_hook_waits_for_it_is_not_a_failure_of_the_hook() {
    let bench = Bench::new(DIES);
    let world = World::new(&bench, 2, "60");
    let [mut first, mut second] = [0, 1].map(|rank| world.start(rank, &[]));
    wait(&mut second);
    let (code, said) = (wait(&mut first).code(), world.said(0));
    assert_eq!(code, Some(7), "{said}");
    for part in ["error: hook `sums` ", "failed at after_train_iter", "rank 1 ("] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn ranks_that_cannot_connect_name_the_missing_rank() {
    let bench = Bench::new("");
    let world = World::new(&bench, 3, "2");
    let mut ranks = [0, 1].map(|rank| world.start(rank, &[]));
    for (rank, child) in ranks.iter_mut().enumerate() {
        let code = wait(child).code();
        let said = world.said(rank);
        assert_eq!(code, Some(7), "{said}");
        assert_plain(&said);
    }
    let said = world.said(0);
    assert!(said.contains("for rank 2 of 3, which did not start"), "{said}");
    // Nothing listens at the port any more.
    let world = World::new(&bench, 2, "1");
    assert_eq!(wait(&mut world.start(1, &[])).code(), Some(7));
    let said = world.said(1);
    assert!(said.contains("rank 1 could not reach rank 0 at 127.0.0.1:"), "{said}");
    assert_plain(&said);
}

/// Starts two ranks with different settings; both must fail with the difference.
#[track_caller]
fn assert_differ(bench: &Bench, more: &[&str], more_of_rank_1: &[&str], wanted: &str) {
    let world = World::new(bench, 2, "60");
    let both = [more, more_of_rank_1].concat();
    let mut ranks = [world.start(0, more), world.start(1, &both)];
    for (rank, child) in ranks.iter_mut().enumerate() {
        let code = wait(child).code();
        let said = world.said(rank);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(!bench.path("run").exists(), "nothing was written");
}

#[test]
fn a_rank_with_another_build_of_a_plugin_is_named_before_the_first_step() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    fs::create_dir(bench.path("others")).unwrap();
    // Bytes after the last section are not loaded, but change the checksum of the file.
    let mut library = fs::read(bench.path("plugins/libema.so")).unwrap();
    library.push(0);
    fs::write(bench.path("others/libema.so"), library).unwrap();
    let others = ["plugins.dirs=[\"others\"]"];
    assert_differ(&bench, &[], &others, "rank 1 differs from rank 0 in library libema.so");
}

#[test]
fn a_rank_with_another_data_file_is_named_before_the_first_step() {
    let bench = Bench::new("");
    let table = |first: &str| {
        let rows = (1..12).map(|row| format!("{row},1,2,3,{}\n", row % 3));
        format!("a,b,c,d,label\n{first}{}", rows.collect::<String>())
    };
    for (folder, first) in [("here", "1,2,3,4,0\n"), ("there", "1,2,3,5,0\n")] {
        fs::create_dir(bench.path(folder)).unwrap();
        bench.write(&format!("{folder}/table.csv"), &table(first));
    }
    let data = |folder: &str| {
        format!(
            "data.train={{_delete_=true,type=\"Csv\",path=\"{folder}/table.csv\",label=\"label\"}}"
        )
    };
    let wanted = "rank 1 differs from rank 0 in data file table.csv:";
    assert_differ(&bench, &[&data("here")], &[&data("there")], wanted);
}

#[test]
fn verify_resume_works_on_two_ranks() {
    let bench = Bench::new(&hook("EMAIterHook", ""));
    let args = ["verify-resume", "config.toml", "--at", "2", "--steps", "2", "--ranks", "2"];
    let more = ["default_hooks.logger.interval=1", "model.dropout=0.3"];
    let proved: Ran = bench.run(args.iter().chain(&more));
    proved.expect(0).prints(&["identical: ", "bit for bit"]);
    bench.run(args[..7].iter().chain(&["3"])).expect(5).says(&["cannot be divided among 3 ranks"]);
    let short = ["verify-resume", "config.toml", "--at", "3", "--steps", "2"];
    bench.run(short).expect(5).says(&["the run ended before iteration 5 (AT + STEPS)"]);
}

const STAGES: [&str; 1] = ["schedule={type=\"OneFOneB\",stages=2,microbatches=2}"];

#[test]
fn a_stage_that_hangs_is_named_with_the_action_it_is_in() {
    let hook = "[[custom_hooks]]\ntype = \"Staller\"\nname = \"sleeper\"\niter = 4\nranks = \"last_stage\"\n";
    let bench = Bench::new(hook);
    let world = World::new(&bench, 2, "20");
    let mut ranks = [0, 1].map(|rank| world.start(rank, &STAGES));
    let (code, said) = (wait(&mut ranks[0]).code(), world.said(0));
    assert_eq!(code, Some(7), "{said}");
    // The other stage waits for the gradient of that micro-batch.
    for wanted in [
        "rank 1 (",
        ") did not reach the collective in time; it is in iteration 4",
        "`sleeper`",
        "backward of micro-batch 0, chunk 0; this rank waited in iteration 4",
        "receive of the gradient of micro-batch 0, chunk 0 from stage 1",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert_plain(&said);
    signal(&ranks[1], "KILL");
    wait(&mut ranks[1]);
}

#[test]
fn a_stage_that_is_stopped_is_named_with_its_last_position() {
    let bench = Bench::new("");
    let world = World::new(&bench, 2, "20");
    let more = [&["train.max_epochs=1000000"], &STAGES[..]].concat();
    let mut ranks = [0, 1].map(|rank| world.start(rank, &more));
    until("the ranks train", || bench.path("run/checkpoints/latest").exists());
    signal(&ranks[1], "STOP");
    let (code, said) = (wait(&mut ranks[0]).code(), world.said(0));
    assert_eq!(code, Some(7), "{said}");
    for wanted in [
        "rank 1 (",
        ") stopped responding; its last known position was iteration ",
        "; this rank waited in iteration ",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    signal(&ranks[1], "KILL");
    wait(&mut ranks[1]);
}

//! A run on several ranks that are killed repeatedly equals an uninterrupted one. `cargo xtask soak --ranks 2 --kills 30` is the long form,
//! `--stages 2` that of a pipeline; with `--torchrun` PyTorch's launcher restarts the ranks.

#![expect(clippy::print_stdout, reason = "the long form reports its progress")]
use crate::patience;
use crate::resume::assert_same;
use crate::soak::{Rng, Soak, number, wait_for};
use crate::workbench::{RunFolder, program};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A variable in the environment of every process that a soak starts.
const MARK: &str = "HOOKRACK_TEST_MARK";

struct RankSoak {
    soak: Soak,
    ranks: u64,
    // Empty: `hookrack launch`.
    torchrun: String,
}

impl RankSoak {
    /// Starts a run under its launcher, which restarts all ranks up to this many times.
    fn start(&self, run: &str, restarts: u64) -> Child {
        let (ranks, restarts) = (self.ranks.to_string(), restarts.to_string());
        let mut command = if self.torchrun.is_empty() {
            let mut command = Command::new(program());
            command.args(["launch", "--ranks", &ranks, "--restarts", &restarts, "--"]);
            command
        } else {
            let mut command = Command::new(&self.torchrun);
            command.args(["--standalone", "--nproc-per-node", &ranks, "--max-restarts", &restarts]);
            command.args(["--monitor-interval", "0.1", "--no-python"]).arg(program());
            command
        };
        command.args(["train", "config.toml", "--run-dir", run, "--quiet"]);
        command.args(self.soak.settings.iter().flat_map(|set| ["-s", set]));
        command.current_dir(self.soak.bench.path("."));
        command.env_remove("LD_LIBRARY_PATH").env(MARK, self.soak.bench.path(run));
        let said = fs::File::create(self.soak.bench.path(&format!("{run}.said"))).unwrap();
        command.stdout(Stdio::null()).stderr(said).spawn().unwrap()
    }

    /// The uninterrupted run.
    fn whole(&self) -> RunFolder {
        let ended = patience::wait(&mut self.start("whole", 0));
        assert!(ended.success(), "{}", self.soak.bench.read("whole.said"));
        self.soak.bench.folder("whole")
    }

    /// The process of a rank after this many restarts, once it exists.
    fn process(&self, rank: u64, restart: u64) -> String {
        let mut mark = format!("{MARK}=").into_bytes();
        mark.extend(self.soak.bench.path("killed").as_os_str().as_bytes());
        let rank = format!("RANK={rank}").into_bytes();
        let restart = format!("TORCHELASTIC_RESTART_COUNT={restart}").into_bytes();
        let is_it = |environment: &[u8]| {
            let has = |wanted: &[u8]| environment.split(|byte| *byte == 0).any(|it| it == wanted);
            [&mark, &rank, &restart].into_iter().all(|wanted| has(wanted))
        };
        let mut found = None;
        patience::until("the rank is started", || {
            let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
            let mut ranks =
                processes.filter(|path| is_it(&fs::read(path.join("environ")).unwrap_or_default()));
            found = ranks.next();
            found.is_some()
        });
        found.unwrap().file_name().unwrap().to_str().unwrap().to_owned()
    }
}

/// Kills the ranks of a run at random moments, and compares it with one that is left alone.
fn kill_ranks(stages: u64) {
    let (kills, seed) = (number("HOOKRACK_SOAK_KILLS", 2), number("HOOKRACK_SOAK_SEED", 1));
    let torchrun = std::env::var("HOOKRACK_SOAK_TORCHRUN").unwrap_or_default();
    let began = Instant::now();
    let mut soak = Soak::new(4 + kills, "fp32");
    if stages > 1 {
        let schedule = format!("schedule={{type=\"OneFOneB\",stages={stages},microbatches=2}}");
        soak.settings.push(schedule);
    }
    let soak = RankSoak { soak, ranks: number("HOOKRACK_SOAK_RANKS", 2), torchrun };
    let whole = soak.whole();
    let run = soak.soak.bench.folder("killed");
    let mut launcher = soak.start("killed", kills);
    let mut rng = Rng(seed);
    for kill in 1..=kills {
        let (moment, rank) = (rng.moment(), rng.below(soak.ranks));
        let process = soak.process(rank, kill - 1);
        let checkpoints = run.path.join("checkpoints");
        assert!(
            wait_for(moment, &mut launcher, &checkpoints),
            "the run ended before kill {kill}: {}",
            soak.soak.bench.read("killed.said")
        );
        let killed = patience::output(Command::new("kill").args(["-s", "KILL", &process])).unwrap();
        assert!(killed.status.success(), "rank {rank} ended before kill {kill}");
        println!("kill {kill} of {kills}: rank {rank}, {moment:?}");
    }
    assert!(patience::wait(&mut launcher).success(), "{}", soak.soak.bench.read("killed.said"));
    assert_same(&whole, &run, &format!("after {kills} kills with seed {seed}"));
    println!(
        "{} ranks in {stages} stages, {kills} kills, {} iterations, {:.0} s: the same run, bit for bit",
        soak.ranks,
        whole.record()["iter"],
        began.elapsed().as_secs_f64()
    );
}

#[test]
fn a_run_whose_ranks_are_killed_at_random_moments_equals_an_uninterrupted_one() {
    kill_ranks(number("HOOKRACK_SOAK_STAGES", 1));
}

#[test]
fn a_pipeline_whose_stages_are_killed_at_random_moments_equals_an_uninterrupted_one() {
    // The long form has one kind of ranks, and runs them in the test above.
    if std::env::var_os("HOOKRACK_SOAK_STAGES").is_none() {
        kill_ranks(2);
    }
}

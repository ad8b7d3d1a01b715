//! Trains with each rank on its own host and cuts one host off during the run: every rank must name it and exit, and the run must resume.

mod network;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    compiler::on_path,
    error::TaskError,
    files::During as _,
    process::{self, ProcessError},
    report,
    workspace::Workspace,
};
use network::{Network, address, name};

/// The exit code of a rank that ends because of another one.
const PEER: i32 = 7;
/// How long the ranks may take to write a checkpoint, and to exit after the timeout before they count as hanging.
const PATIENCE: Duration = Duration::from_mins(3);

/// The programs that such a run needs.
pub(crate) fn require() -> Result<(), TaskError> {
    let what = if !rustix::process::geteuid().is_root() {
        "root, to make network namespaces"
    } else if on_path("ip").is_none() {
        "`ip` (Debian, Ubuntu: `apt install iproute2`)"
    } else if on_path("unshare").is_none() {
        "`unshare` (Debian, Ubuntu: `apt install util-linux`)"
    } else {
        return Ok(());
    };
    Err(TaskError::NoNamespaces { what })
}

/// A run on several hosts.
pub(crate) struct Trial<'a> {
    pub(crate) workspace: &'a Workspace,
    /// The built `hookrack`.
    pub(crate) program: &'a Path,
    pub(crate) hosts: usize,
    pub(crate) timeout: u64,
    /// Where the run directory and the output of the ranks go.
    pub(crate) folder: PathBuf,
}

impl Trial<'_> {
    /// Trains on all hosts, cuts one off, and checks how the ranks end.
    pub(crate) fn cut(&self, victim: usize) -> Result<(), TaskError> {
        report::step(&format!("{} hosts; {} is cut off during the run", self.hosts, name(victim)));
        let network = Network::new(self.hosts)?;
        let ranks = (0..self.hosts).map(|rank| self.start(&network, rank));
        let mut ranks = ranks.collect::<Result<Vec<_>, _>>()?;
        let trained = self.until_saved(&mut ranks);
        let cut = trained.and_then(|()| Ok(network.cut(victim)?));
        let began = Instant::now();
        let ended = cut.and_then(|()| self.await_all(&mut ranks, began));
        if ended.is_err() {
            // Fails for a rank that has already exited, which is harmless.
            for rank in &mut ranks {
                let _ = rank.kill();
                let _ = rank.wait();
            }
        }
        for (rank, (status, seconds)) in ended?.into_iter().enumerate() {
            self.check(rank, victim, status, seconds)?;
        }
        let left = network.processes()?;
        if !left.is_empty() {
            return Err(self.wrong(victim, format!("processes are left: {}", left.join(", "))));
        }
        drop(network);
        self.resume()
    }

    fn args(&self) -> Vec<String> {
        let config = self.workspace.root().join("configs/quickstart.toml");
        let run = self.folder.join("run");
        let settings = [
            "train.max_epochs=1000000".to_owned(),
            format!("train.batch_size={}", 16 * self.hosts),
            // The last batch may have fewer samples than there are hosts.
            "data.train.drop_last=true".to_owned(),
            "train.threads=1".to_owned(),
            "default_hooks.checkpoint={epoch_period=0,iter_period=50,max_num_checkpoints=3}"
                .to_owned(),
        ];
        let head = ["train".to_owned(), config.display().to_string(), "--quiet".to_owned()];
        let run = ["--run-dir".to_owned(), run.display().to_string()];
        let settings = settings.into_iter().flat_map(|set| ["-s".to_owned(), set]);
        head.into_iter().chain(run).chain(settings).collect()
    }

    fn start(&self, network: &Network, rank: usize) -> Result<Child, TaskError> {
        let said = self.said(rank);
        let mut command = network.command(rank, self.program);
        command.args(self.args()).env("HOOKRACK_PLUGINS", self.workspace.plugins());
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", self.hosts.to_string());
        command.env("LOCAL_RANK", "0").env("LOCAL_WORLD_SIZE", "1");
        command.env("MASTER_ADDR", address(0)).env("MASTER_PORT", "29500");
        command.env("HOOKRACK_TIMEOUT", self.timeout.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(&said).during("create", &said)?);
        Ok(command.spawn().map_err(|source| process::not_started(&command, source))?)
    }

    /// Waits until the run has a checkpoint.
    fn until_saved(&self, ranks: &mut [Child]) -> Result<(), TaskError> {
        let latest = self.folder.join("run/checkpoints/latest");
        let began = Instant::now();
        while !latest.exists() {
            for (rank, child) in ranks.iter_mut().enumerate() {
                if let Some(status) = ended(child)? {
                    return Err(
                        self.wrong(rank, format!("ended before the first checkpoint: {status}"))
                    );
                }
            }
            if began.elapsed() > PATIENCE {
                return Err(self.wrong(0, "wrote no checkpoint".to_owned()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The exit status of every rank, and the seconds since the cut.
    fn await_all(
        &self,
        ranks: &mut [Child],
        began: Instant,
    ) -> Result<Vec<(ExitStatus, f64)>, TaskError> {
        let mut ends = vec![None; ranks.len()];
        let limit = Duration::from_secs(self.timeout) + PATIENCE;
        loop {
            for (end, child) in
                ends.iter_mut().zip(ranks.iter_mut()).filter(|(end, _)| end.is_none())
            {
                *end = ended(child)?.map(|status| (status, began.elapsed().as_secs_f64()));
            }
            let Some(running) = ends.iter().position(Option::is_none) else { break };
            if began.elapsed() > limit {
                let seconds = limit.as_secs();
                return Err(
                    self.wrong(running, format!("was still running {seconds} s after the cut"))
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(ends.into_iter().flatten().collect())
    }

    fn check(
        &self,
        rank: usize,
        victim: usize,
        status: ExitStatus,
        seconds: f64,
    ) -> Result<(), TaskError> {
        let said = fs::read_to_string(self.said(rank)).unwrap_or_default();
        let error =
            said.lines().find(|line| line.contains("stopped responding")).unwrap_or_default();
        report::note(&format!("{} {seconds:.1} s after the cut, {status}: {error}", name(rank)));
        if status.code() != Some(PEER) {
            return Err(self.wrong(rank, format!("{status}, expected exit code {PEER}")));
        }
        #[expect(clippy::cast_precision_loss, reason = "a timeout is far below 2^53 s")]
        let limit = self.timeout as f64;
        if seconds > limit {
            return Err(self.wrong(
                rank,
                format!("exited {seconds:.1} s after the cut, expected at most {limit}"),
            ));
        }
        // The host that is cut off cannot tell whether it or the others are.
        let wanted = if rank == victim {
            format!("{}) is cut off from the network", name(victim))
        } else {
            format!(
                "rank {victim} ({}) stopped responding; its last known position was iteration ",
                name(victim)
            )
        };
        let is_own = rank == victim && victim == 0;
        if !is_own && !said.contains(&wanted) {
            return Err(self.wrong(rank, format!("does not contain `{wanted}`")));
        }
        Ok(())
    }

    /// The last checkpoint is intact: one process resumes from it.
    fn resume(&self) -> Result<(), TaskError> {
        let latest = self.folder.join("run/checkpoints/latest");
        let named = fs::read_to_string(&latest).during("read", &latest)?;
        let iter = named.trim().trim_start_matches("iter_").parse().unwrap_or(0_u64);
        let mut command = process::command(self.program);
        command.args(self.args()).args(["--resume", "--until", &(iter + 1).to_string()]);
        command.env("HOOKRACK_PLUGINS", self.workspace.plugins());
        process::output(&mut command)?;
        report::note("no process is left, and the last checkpoint resumes");
        Ok(())
    }

    fn said(&self, rank: usize) -> PathBuf {
        self.folder.join(format!("{}.stderr", name(rank)))
    }

    fn wrong(&self, rank: usize, what: String) -> TaskError {
        let said = fs::read_to_string(self.said(rank)).unwrap_or_default();
        TaskError::Rank { rank, host: name(rank), what, said }
    }
}

fn ended(child: &mut Child) -> Result<Option<ExitStatus>, ProcessError> {
    child.try_wait().map_err(|source| ProcessError::Start {
        command: "ip netns exec".to_owned(),
        program: "ip".to_owned(),
        source,
    })
}

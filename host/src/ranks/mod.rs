//! The place of this process among the ranks of a run, from the environment that its launcher set.
//!
//! If launchers are nested (`torchrun` in a SLURM job, `mpirun` in an allocation), the variables of both are set. The innermost one is used:
//! torchrun and `hookrack launch` first, then Open MPI, then SLURM's `srun` or PMI.

mod error;
mod listener;
mod mpi;
mod node_list;
mod rendezvous;
mod share;
mod slurm;
mod torchrun;
mod variables;

pub use error::RanksError;
pub use share::{ShareError, check_share};
pub use torchrun::{LAUNCH_VARIABLE, RUN_DIR_VARIABLE};

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;
use variables::Variables;

/// The variable with the number of seconds that a rank waits for the others.
pub const TIMEOUT_VARIABLE: &str = "HOOKRACK_TIMEOUT";

/// PyTorch's variable with the network interface that ranks talk over by Gloo.
const INTERFACE_VARIABLE: &str = "GLOO_SOCKET_IFNAME";

/// The place of this process, as its launcher set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The rank of this process, from 0.
    pub rank: usize,
    /// The number of ranks, on all machines.
    pub world: usize,
    /// The rank among those of this machine, from 0: the number of its GPU.
    pub local_rank: usize,
    /// The number of ranks on this machine, which share its cores.
    pub local_world: usize,
    /// The machine of rank 0.
    pub address: String,
    /// The port of the store through which the ranks find each other.
    pub port: u16,
    /// The number of restarts so far.
    pub restart: u32,
    /// Maximum number of restarts; 0 if the launcher does not say.
    pub max_restarts: u32,
    /// Whether the launcher serves the store at `address` and `port`; otherwise rank 0 does.
    pub agent_store: bool,
    /// The run directory that `hookrack launch` chose: the same for all ranks and restarts.
    pub run_dir: Option<PathBuf>,
    /// The network interface that the ranks talk over, if `GLOO_SOCKET_IFNAME` is set.
    pub interface: Option<String>,
    /// How long to wait for other ranks, if `HOOKRACK_TIMEOUT` (in seconds) is set.
    pub timeout: Option<Duration>,
    /// Which launcher set the variables.
    pub source: Source,
}

/// The launcher that started the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// None: a single process.
    Single,
    /// `hookrack launch`.
    Launch,
    /// PyTorch's torchrun.
    Torchrun,
    /// Something else that sets torchrun's variables, such as Kubernetes' training operator.
    Variables,
    /// SLURM's `srun`.
    Slurm,
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// A process manager with PMI: MPICH, Intel MPI, Cray.
    Pmi,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "single process",
            Self::Launch => "hookrack launch",
            Self::Torchrun => "torchrun",
            Self::Variables => "RANK and WORLD_SIZE",
            Self::Slurm => "SLURM",
            Self::OpenMpi => "Open MPI",
            Self::Pmi => "PMI",
        })
    }
}

impl Ranks {
    /// A single process, without a launcher.
    pub fn single() -> Self {
        Self {
            rank: 0,
            world: 1,
            local_rank: 0,
            local_world: 1,
            address: Ipv4Addr::LOCALHOST.to_string(),
            port: rendezvous::DEFAULT_PORT,
            restart: 0,
            max_restarts: 0,
            agent_store: false,
            run_dir: None,
            interface: None,
            timeout: None,
            source: Source::Single,
        }
    }

    /// The place of this process; a single process if no launcher is found.
    ///
    /// # Errors
    /// Variables that are incomplete, invalid or contradict each other.
    pub fn from_env() -> Result<Self, RanksError> {
        Self::from_variables(&|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// As [`from_env`](Self::from_env), with the variables that `lookup` returns.
    pub fn from_variables(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, RanksError> {
        let variables = Variables::new(lookup);
        let ranks = find(&variables)?.checked()?;
        let timeout = variables.number(TIMEOUT_VARIABLE)?.map(Duration::from_secs);
        let interface = variables.text(INTERFACE_VARIABLE);
        // PyTorch takes a list, of which the first is enough here.
        let interface = interface.and_then(|names| Some(names.split(',').next()?.to_owned()));
        Ok(Self { interface, timeout, ..ranks })
    }

    /// Whether this is rank 0, which writes the files of the run.
    pub fn is_main(&self) -> bool {
        self.rank == 0
    }

    /// Whether this is the only rank.
    pub fn is_single(&self) -> bool {
        self.world == 1
    }

    fn checked(self) -> Result<Self, RanksError> {
        let [rank, world, local_rank, local_world] = self.source.names();
        let pairs = [
            (rank, self.rank, world, self.world),
            (local_rank, self.local_rank, local_world, self.local_world),
        ];
        for (variable, value, than, limit) in pairs {
            if value >= limit {
                let how = "less than";
                return Err(RanksError::Contradiction { variable, value, how, than, limit });
            }
        }
        if self.local_world > self.world {
            return Err(RanksError::Contradiction {
                variable: local_world,
                value: self.local_world,
                how: "at most",
                than: world,
                limit: self.world,
            });
        }
        Ok(self)
    }
}

impl Source {
    /// The variables of rank, world size, local rank and local world size.
    fn names(self) -> [&'static str; 4] {
        match self {
            Self::Single | Self::Launch | Self::Torchrun | Self::Variables => {
                ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"]
            }
            Self::Slurm => [
                "SLURM_PROCID",
                "SLURM_STEP_NUM_TASKS",
                "SLURM_LOCALID",
                "SLURM_STEP_TASKS_PER_NODE",
            ],
            Self::OpenMpi => [
                "OMPI_COMM_WORLD_RANK",
                "OMPI_COMM_WORLD_SIZE",
                "OMPI_COMM_WORLD_LOCAL_RANK",
                "OMPI_COMM_WORLD_LOCAL_SIZE",
            ],
            Self::Pmi => ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"],
        }
    }
}

fn find(variables: &Variables<'_>) -> Result<Ranks, RanksError> {
    if let Some(ranks) = torchrun::read(variables)? {
        return Ok(ranks);
    }
    if let Some(ranks) = mpi::read_open_mpi(variables)? {
        return Ok(ranks);
    }
    let slurm = slurm::read(variables)?;
    let tasks = slurm.as_ref().map(|task| task.world);
    let found = mpi::read_pmi(variables, tasks)?.or(slurm);
    let restart = slurm::restarts(variables)?;
    Ok(found.unwrap_or_else(|| Ranks { restart, ..Ranks::single() }))
}

#[cfg(test)]
mod tests;

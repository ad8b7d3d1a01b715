//! Errors in the environment that a launcher sets.

use super::Source;

/// Why the place of a process among the ranks is unknown.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RanksError {
    #[error("{given} = {value} is set, but {missing} is not: set both or neither")]
    Missing { missing: &'static str, given: &'static str, value: String },
    #[error("{variable} must be a number from {low} to {high}, not `{value}`")]
    NotANumber { variable: &'static str, value: String, low: u64, high: u64 },
    #[error("{variable} = {value} must be {how} {than} = {limit}")]
    Contradiction {
        variable: &'static str,
        value: usize,
        /// "less than" or "at most".
        how: &'static str,
        than: &'static str,
        limit: usize,
    },
    #[error("{variable} = `{value}` is not a valid SLURM list: {why}")]
    List { variable: &'static str, value: String, why: &'static str },
    #[error(
        "{from} starts {world} ranks on several machines and does not say where rank 0 is: set MASTER_ADDR to its host \
         name for all ranks, such as `mpirun -x MASTER_ADDR=HOST …` or `mpiexec -genv MASTER_ADDR HOST …`"
    )]
    NoAddress { from: Source, world: usize },
    #[error(
        "PMIX_RANK = {rank} is set, but PMIx does not say how many ranks there are: start with mpirun, srun or torchrun, \
         or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
    )]
    NoWorldSize { rank: String },
}

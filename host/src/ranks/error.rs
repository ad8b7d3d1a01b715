//! Errors in the environment that a launcher sets.

use super::Source;

/// Why the place of a process among the ranks is unknown.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RanksError {
    /// A variable that must be set together with another one is missing.
    #[error("{given} = {value} is set, but {missing} is not: set both or neither")]
    Missing { missing: &'static str, given: &'static str, value: String },
    /// A variable that must be a number is not one, or is out of range.
    #[error("{variable} must be a number from {low} to {high}, not `{value}`")]
    NotANumber { variable: &'static str, value: String, low: u64, high: u64 },
    /// Two numbers contradict each other.
    #[error("{variable} = {value} must be {how} {than} = {limit}")]
    Contradiction {
        variable: &'static str,
        value: usize,
        /// "less than" or "at most".
        how: &'static str,
        than: &'static str,
        limit: usize,
    },
    /// A list set by SLURM is invalid.
    #[error("{variable} = `{value}` is not a valid SLURM list: {why}")]
    List { variable: &'static str, value: String, why: &'static str },
    /// The ranks are on several machines, and the launcher does not say where rank 0 is.
    #[error(
        "{from} starts {world} ranks on several machines and does not say where rank 0 is: set MASTER_ADDR to its host \
         name for all ranks, such as `mpirun -x MASTER_ADDR=HOST …` or `mpiexec -genv MASTER_ADDR HOST …`"
    )]
    NoAddress { from: Source, world: usize },
    /// The launcher does not say how many ranks there are.
    #[error(
        "PMIX_RANK = {rank} is set, but PMIx does not say how many ranks there are: start with mpirun, srun or torchrun, \
         or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"
    )]
    NoWorldSize { rank: String },
}

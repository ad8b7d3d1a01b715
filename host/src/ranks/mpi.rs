//! The variables of MPI's launchers. They set no address: see [`Rendezvous`].

use super::rendezvous::Rendezvous;
use super::variables::Variables;
use super::{Ranks, RanksError, Source};

/// Open MPI's `mpirun`.
pub(super) fn read_open_mpi(variables: &Variables<'_>) -> Result<Option<Ranks>, RanksError> {
    let Some((rank, world)) = variables.pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")?
    else {
        return Ok(None);
    };
    let local = variables.pair("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")?;
    let (local_rank, local_world) = match local {
        None if world > 1 => {
            return Err(variables.missing("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK"));
        }
        local => local.unwrap_or((0, 1)),
    };
    let job = variables.first(&["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"]);
    let job = job.as_ref().map(|(_, job)| &**job);
    let rendezvous = Rendezvous { source: Source::OpenMpi, world, local_world, job };
    rendezvous.ranks(variables, rank, local_rank).map(Some)
}

/// The launchers of MPICH, Intel MPI and Cray, by PMI. `tasks` is SLURM's world size. SLURM sets PMI's variables too, so they are used only if
/// their world size differs: an `mpiexec` in an allocation starts one helper per machine with `srun`, and the ranks from there.
pub(super) fn read_pmi(
    variables: &Variables<'_>,
    tasks: Option<usize>,
) -> Result<Option<Ranks>, RanksError> {
    let is_slurm = variables.first(&["SLURM_JOB_ID", "SLURM_JOBID"]).is_some();
    let is_half = !(variables.is_set("PMI_RANK") && variables.is_set("PMI_SIZE"));
    if is_slurm && is_half {
        return Ok(None);
    }
    let Some((rank, world)) = variables.pair("PMI_RANK", "PMI_SIZE")? else {
        return match variables.text("PMIX_RANK") {
            Some(rank) => Err(RanksError::NoWorldSize { rank }),
            None => Ok(None),
        };
    };
    if tasks == Some(world) {
        return Ok(None);
    }
    let local = match variables.pair("MPI_LOCALRANKID", "MPI_LOCALNRANKS")? {
        None => variables.pair("PMI_LOCAL_RANK", "PMI_LOCAL_SIZE")?,
        local => local,
    };
    let (local_rank, local_world) = match local {
        None if world > 1 => return Err(variables.missing("MPI_LOCALRANKID", "PMI_RANK")),
        local => local.unwrap_or((0, 1)),
    };
    let job = variables.first(&["PMI_JOBID", "SLURM_JOB_ID"]);
    let job = job.as_ref().map(|(_, job)| &**job);
    let rendezvous = Rendezvous { source: Source::Pmi, world, local_world, job };
    rendezvous.ranks(variables, rank, local_rank).map(Some)
}

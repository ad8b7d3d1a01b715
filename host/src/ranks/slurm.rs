//! SLURM's variables of a task that `srun` started.

use super::rendezvous::Rendezvous;
use super::variables::Variables;
use super::{Ranks, RanksError, Source, node_list};

/// Step ids from here on are not `srun` steps: the batch script, the shell of `salloc`, and SLURM's internal steps.
const FIRST_SPECIAL_STEP: u32 = 0xffff_fff0;

/// The place of a task; `None` for a batch script or an interactive shell, which is one process.
pub(super) fn read(variables: &Variables<'_>) -> Result<Option<Ranks>, RanksError> {
    let step = variables.first_number(&["SLURM_STEP_ID", "SLURM_STEPID"])?;
    let Some(step) = step.filter(|&step: &u32| step < FIRST_SPECIAL_STEP) else { return Ok(None) };
    let Some(rank) = variables.number("SLURM_PROCID")? else { return Ok(None) };
    // A step may use only a part of the job's tasks.
    let tasks = ["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"];
    let world = variables.first_number(&tasks)?;
    let world = world.ok_or_else(|| variables.missing(tasks[0], "SLURM_PROCID"))?;
    let local_rank = variables.required("SLURM_LOCALID", "SLURM_PROCID")?;
    let local_world = tasks_here(variables, world)?;
    let job = variables.first(&["SLURM_JOB_ID", "SLURM_JOBID"]).map(|(_, job)| job);
    let job = job.map(|job| format!("{job}.{step}"));
    let rendezvous = Rendezvous { source: Source::Slurm, world, local_world, job: job.as_deref() };
    rendezvous.ranks(variables, rank, local_rank).map(Some)
}

/// How often the job was requeued.
pub(super) fn restarts(variables: &Variables<'_>) -> Result<u32, RanksError> {
    Ok(variables.number("SLURM_RESTART_COUNT")?.unwrap_or(0))
}

/// The number of tasks on this machine.
fn tasks_here(variables: &Variables<'_>, world: usize) -> Result<usize, RanksError> {
    let lists = ["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"];
    let Some((variable, list)) = variables.first(&lists) else {
        return if world == 1 { Ok(1) } else { Err(variables.missing(lists[0], "SLURM_PROCID")) };
    };
    let node = variables.number("SLURM_NODEID")?.unwrap_or(0);
    let tasks = node_list::tasks_on(&list, node);
    tasks.map_err(|why| RanksError::List { variable, value: list, why })
}

//! Address and port of rank 0's store if the launcher does not set them: each rank derives the same ones.

use super::variables::Variables;
use super::{Ranks, RanksError, Source, node_list, slurm};
use std::net::Ipv4Addr;

/// The port if there is no job id to derive one from: torchrun's default.
pub(super) const DEFAULT_PORT: u16 = 29500;

/// The ranks of a launcher that sets no address.
pub(super) struct Rendezvous<'a> {
    pub(super) source: Source,
    pub(super) world: usize,
    pub(super) local_world: usize,
    /// A job id: the same on all ranks of this job, and different from that of other jobs.
    pub(super) job: Option<&'a str>,
}

impl Rendezvous<'_> {
    /// One of the ranks.
    pub(super) fn ranks(
        &self,
        variables: &Variables<'_>,
        rank: usize,
        local_rank: usize,
    ) -> Result<Ranks, RanksError> {
        Ok(Ranks {
            rank,
            world: self.world,
            local_rank,
            local_world: self.local_world,
            address: self.address(variables)?,
            port: self.port(variables)?,
            restart: slurm::restarts(variables)?,
            source: self.source,
            ..Ranks::single()
        })
    }

    /// The address of rank 0: `MASTER_ADDR`, this machine, or the first host of SLURM's list.
    fn address(&self, variables: &Variables<'_>) -> Result<String, RanksError> {
        if let Some(address) = variables.text("MASTER_ADDR") {
            return Ok(address);
        }
        if self.local_world == self.world {
            return Ok(Ipv4Addr::LOCALHOST.to_string());
        }
        let (from, world) = (self.source, self.world);
        let nodes = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"];
        // The list of the step by which an `mpirun` starts its helpers may lack this machine.
        let nodes = if from == Source::Slurm { &nodes[..] } else { &nodes[1..] };
        let (variable, list) =
            variables.first(nodes).ok_or(RanksError::NoAddress { from, world })?;
        node_list::first(&list).map_err(|why| RanksError::List { variable, value: list, why })
    }

    /// `MASTER_PORT`, or a port derived from the job id, so that two jobs on one machine have different ones.
    fn port(&self, variables: &Variables<'_>) -> Result<u16, RanksError> {
        let port = variables.number("MASTER_PORT")?;
        Ok(port.unwrap_or_else(|| self.job.map_or(DEFAULT_PORT, derived)))
    }
}

/// A port below the range of ephemeral ports.
fn derived(job: &str) -> u16 {
    // FNV-1a: the same on every machine and in every build.
    let hash = job.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    15_000 + u16::try_from(hash % 15_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn jobs_have_ports_of_their_own_below_the_ephemeral_ones() {
        let ports: BTreeSet<u16> = (0..100).map(|job| derived(&format!("{job}.0"))).collect();
        assert!(ports.len() > 95, "{ports:?}");
        assert!(ports.iter().all(|port| (15_000..30_000).contains(port)));
    }
}

//! torchrun's variables, which `hookrack launch` and others set too.

use super::rendezvous::DEFAULT_PORT;
use super::variables::Variables;
use super::{Ranks, RanksError, Source};
use std::net::{IpAddr, Ipv4Addr};

/// Set by `hookrack launch`, to its process id.
pub const LAUNCH_VARIABLE: &str = "HOOKRACK_LAUNCH";

/// Set by `hookrack launch`, to the run directory of all ranks.
pub const RUN_DIR_VARIABLE: &str = "HOOKRACK_RUN_DIR";

pub(super) fn read(variables: &Variables<'_>) -> Result<Option<Ranks>, RanksError> {
    let Some((rank, world)) = variables.pair("RANK", "WORLD_SIZE")? else { return Ok(None) };
    let address = match variables.text("MASTER_ADDR") {
        None if world > 1 => return Err(variables.missing("MASTER_ADDR", "WORLD_SIZE")),
        address => address.unwrap_or_else(|| Ipv4Addr::LOCALHOST.to_string()),
    };
    let port = match variables.number("MASTER_PORT")? {
        None if world > 1 => return Err(variables.missing("MASTER_PORT", "WORLD_SIZE")),
        port => port.unwrap_or(DEFAULT_PORT),
    };
    let local = variables.pair("LOCAL_RANK", "LOCAL_WORLD_SIZE")?;
    // Without the local variables, assume one rank per machine, unless the address is this machine.
    let (local_rank, local_world) =
        local.unwrap_or(if is_this_machine(&address) { (rank, world) } else { (0, 1) });
    let is_launch = variables.is_set(LAUNCH_VARIABLE);
    Ok(Some(Ranks {
        rank,
        world,
        local_rank,
        local_world,
        address,
        port,
        restart: variables.number("TORCHELASTIC_RESTART_COUNT")?.unwrap_or(0),
        max_restarts: variables.number("TORCHELASTIC_MAX_RESTARTS")?.unwrap_or(0),
        agent_store: variables.text("TORCHELASTIC_USE_AGENT_STORE").as_deref() == Some("True"),
        run_dir: variables.text(RUN_DIR_VARIABLE).filter(|_| is_launch).map(Into::into),
        interface: None,
        timeout: None,
        source: match variables.text("TORCHELASTIC_RUN_ID") {
            _ if is_launch => Source::Launch,
            Some(_) => Source::Torchrun,
            None => Source::Variables,
        },
    }))
}

fn is_this_machine(address: &str) -> bool {
    address == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

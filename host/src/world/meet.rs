//! How ranks meet: at the store of rank 0, by a deadline after which the missing ones are named.

use super::heartbeat::Heartbeat;
use super::position::Position;
use super::{Groups, World, WorldError};
use crate::ranks::Ranks;
use crate::torch::TorchError;
use crate::torch::dist::{Address, Backend, Store};
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a collective may take, unless the launcher says otherwise.
const TIMEOUT: Duration = Duration::from_mins(10);

impl World {
    /// Meets the other ranks; `None` for a process alone.
    ///
    /// # Errors
    /// They do not come in time, or cannot be reached.
    pub fn meet(ranks: &Ranks) -> Result<Option<Self>, WorldError> {
        if ranks.is_single() {
            return Ok(None);
        }
        let timeout = ranks.timeout.unwrap_or(TIMEOUT);
        let store = connect(ranks, timeout)?;
        let store = store.below(&format!("hookrack/{}", ranks.restart)).map_err(gone)?;
        let hosts = check_in(&store, ranks, timeout)?;
        let position = Arc::new(Position::default());
        let own = store.reconnect().map_err(gone)?;
        let heartbeat =
            Heartbeat::start(own, ranks.rank, ranks.world, Arc::clone(&position)).map_err(told)?;
        let host = own_address(ranks);
        let world = Self {
            ranks: ranks.clone(),
            hosts,
            timeout,
            store,
            host,
            groups: RefCell::new(None),
            heartbeat: RefCell::new(Some(heartbeat)),
            position,
            failed: RefCell::default(),
            meetings: Cell::new(0),
            has_told: Cell::new(false),
            folder: OnceCell::new(),
        };
        let join = |name| world.join(name, Backend::Gloo).map_err(|error| world.not_joined(&error));
        let groups = Groups { control: join("control")?, hooks: join("hooks")? };
        world.groups.replace(Some(groups));
        tracing::info!("rank {} of {} by {}", ranks.rank, ranks.world, ranks.source);
        Ok(Some(world))
    }

    fn not_joined(&self, error: &TorchError) -> WorldError {
        WorldError(format!(
            "rank {} could not connect to the others over {}: {error}",
            self.ranks.rank, self.host
        ))
    }
}

fn connect(ranks: &Ranks, timeout: Duration) -> Result<Store, WorldError> {
    let address = Address { host: &ranks.address, port: ranks.port };
    let is_server = ranks.is_main() && !ranks.agent_store;
    Store::connect(address, is_server, timeout).map_err(|error| {
        let (host, port) = (&ranks.address, ranks.port);
        WorldError(if is_server {
            format!(
                "rank 0 could not open port {port} for the other ranks: {error}; choose another one with MASTER_PORT"
            )
        } else {
            format!(
                "rank {} could not reach rank 0 at {host}:{port} within {} s: {error}; check that rank 0 has started there \
                 and that MASTER_ADDR and MASTER_PORT are the same on all ranks",
                ranks.rank,
                timeout.as_secs()
            )
        })
    })
}

/// Waits until every rank is here, and returns the machines that they are on.
fn check_in(store: &Store, ranks: &Ranks, timeout: Duration) -> Result<Vec<String>, WorldError> {
    let key = |rank| format!("here/{rank}");
    store.set(&key(ranks.rank), machine().as_bytes()).map_err(gone)?;
    let deadline = Instant::now() + timeout;
    let mut hosts = Vec::new();
    for rank in 0..ranks.world {
        let left = deadline.saturating_duration_since(Instant::now());
        match store.wait_for(&key(rank), left.max(Duration::from_millis(10))) {
            Ok(host) => hosts.push(String::from_utf8_lossy(&host).into_owned()),
            Err(_) => return Err(missing(store, ranks, timeout)),
        }
    }
    Ok(hosts)
}

fn missing(store: &Store, ranks: &Ranks, timeout: Duration) -> WorldError {
    let is_missing = |rank: &usize| !matches!(store.get(&format!("here/{rank}")), Ok(Some(_)));
    let missing: Vec<_> =
        (0..ranks.world).filter(is_missing).map(|rank| rank.to_string()).collect();
    WorldError(format!(
        "rank {} waited {} s for rank {} of {}, which did not start; look at the output of that rank, or raise {} (seconds)",
        ranks.rank,
        timeout.as_secs(),
        missing.join(", "),
        ranks.world,
        crate::ranks::TIMEOUT_VARIABLE
    ))
}

/// The address by which the other ranks reach this machine: the one from which it reaches rank 0.
fn own_address(ranks: &Ranks) -> String {
    if ranks.local_world == ranks.world {
        return Ipv4Addr::LOCALHOST.to_string();
    }
    let route = || {
        let socket = UdpSocket::bind((IpAddr::from([0, 0, 0, 0]), 0)).ok()?;
        socket.connect((ranks.address.as_str(), ranks.port)).ok()?;
        Some(socket.local_addr().ok()?.ip().to_string())
    };
    route().unwrap_or_default()
}

pub(super) fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

fn gone(error: impl Display) -> WorldError {
    WorldError(format!("the store of the ranks does not answer: {error}"))
}

fn told(error: impl Display) -> WorldError {
    WorldError(error.to_string())
}

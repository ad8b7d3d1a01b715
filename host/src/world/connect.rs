//! Connects the ranks through the store of rank 0; after the timeout, reports the ranks that did not connect.

use super::deadlines::Deadlines;
use super::network::{network, own_address};
use super::position::Position;
use super::store_client::{StoreClient, beat_of};
use super::{Groups, World, WorldError};
use crate::ranks::Ranks;
use crate::torch::TorchError;
use crate::torch::dist::{self, Address, Backend, Group, Member, Mesh, Network, Server, Store};
use std::cell::{Cell, OnceCell, RefCell};
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The default of the timeout within which a missing rank is named.
const TIMEOUT: Duration = Duration::from_mins(10);

impl World {
    /// Connects to the other ranks; `None` for a single process.
    ///
    /// # Errors
    /// A rank does not connect within the timeout, or cannot be reached.
    pub fn connect(ranks: &Ranks) -> Result<Option<Self>, WorldError> {
        if ranks.is_single() {
            return Ok(None);
        }
        if !tracing::enabled!(tracing::Level::DEBUG) {
            dist::log_quietly();
        }
        let timeout = ranks.timeout.unwrap_or(TIMEOUT);
        let store = connect(ranks, timeout)?;
        let store = store.below(&format!("hookrack/{}", ranks.restart)).map_err(gone)?;
        let address = own_address(ranks);
        let (hosts, others) = check_in(&store, ranks, address, timeout)?;
        let position = Arc::new(Position::default());
        let own = store.reconnect().map_err(gone)?;
        let (rank, world) = (ranks.rank, ranks.world);
        let deadlines = Deadlines::of(timeout);
        let client =
            StoreClient::start(own, rank, world, Arc::clone(&position), deadlines.answer())
                .map_err(world_error)?;
        let network = network(ranks, address, &others);
        let activity = Arc::clone(position.activity());
        let world = Self {
            ranks: ranks.clone(),
            hosts,
            store,
            member: Member { rank, world, network, timeout: deadlines.collective(), activity },
            deadlines,
            groups: RefCell::new(None),
            client: RefCell::new(Some(client)),
            position,
            failed: RefCell::default(),
            sync_count: Cell::new(0),
            has_reported: Cell::new(false),
            blamed: Cell::new(None),
            named: RefCell::new(None),
            folder: OnceCell::new(),
        };
        let groups = world.join_groups().map_err(|error| world.not_joined(&error))?;
        world.groups.replace(Some(groups));
        tracing::info!("rank {} of {} by {}", ranks.rank, ranks.world, ranks.source);
        Ok(Some(world))
    }

    fn join_groups(&self) -> Result<Groups, TorchError> {
        let join = |name| Group::join(&self.store, &self.member, name, Backend::Gloo);
        Ok(Groups {
            control: join("control")?,
            mesh: Mesh::join(&self.store, &self.member, "control")?,
            hooks: join("hooks")?,
        })
    }

    fn not_joined(&self, error: &TorchError) -> WorldError {
        WorldError(format!(
            "rank {} could not connect to the others over {}: {error}; check that the machines reach each other, or name the \
             network interface with GLOO_SOCKET_IFNAME",
            self.ranks.rank,
            match &self.member.network {
                Network::Default => "the address of this machine's name",
                Network::Host(name) | Network::Interface(name) => name,
            }
        ))
    }
}

fn connect(ranks: &Ranks, timeout: Duration) -> Result<Store, WorldError> {
    let address = Address { host: &ranks.address, port: ranks.port };
    let is_server = ranks.is_main() && !ranks.agent_store;
    let server = match ranks.take_listener() {
        _ if !is_server => Server::Other,
        Some(listener) => Server::Socket(listener),
        None => Server::Own,
    };
    Store::connect(address, server, timeout).map_err(|error| {
        let (host, port) = (&ranks.address, ranks.port);
        WorldError(if is_server {
            format!(
                "rank 0 could not open port {port} at {host} for the other ranks: {error}; MASTER_ADDR must be an address of \
                 this machine, and MASTER_PORT a free port"
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

/// Waits until every rank has connected; returns their host names, and the addresses of those that know theirs.
fn check_in(
    store: &Store,
    ranks: &Ranks,
    address: Option<IpAddr>,
    timeout: Duration,
) -> Result<(Vec<String>, Vec<IpAddr>), WorldError> {
    let key = |rank| format!("here/{rank}");
    let address = address.map(|address| address.to_string()).unwrap_or_default();
    // Set before the rank checks in: readers of heartbeats expect one from every rank.
    store.set(&beat_of(ranks.rank), b"0 its start").map_err(gone)?;
    store.set(&key(ranks.rank), format!("{}\n{address}", machine()).as_bytes()).map_err(gone)?;
    let deadline = Instant::now() + timeout;
    let (mut hosts, mut addresses) = (Vec::new(), Vec::new());
    for rank in 0..ranks.world {
        let left = deadline.saturating_duration_since(Instant::now());
        match store.wait_for(&key(rank), left.max(Duration::from_millis(10))) {
            Ok(here) => {
                let here = String::from_utf8_lossy(&here);
                let (host, address) = here.split_once('\n').unwrap_or((&here, ""));
                hosts.push(host.to_owned());
                addresses.extend(address.parse::<IpAddr>());
            }
            Err(_) => return Err(missing(store, ranks, timeout)),
        }
    }
    Ok((hosts, addresses))
}

fn missing(store: &Store, ranks: &Ranks, timeout: Duration) -> WorldError {
    let is_missing = |rank: &usize| !matches!(store.get(&format!("here/{rank}")), Ok(Some(_)));
    let missing: Vec<_> =
        (0..ranks.world).filter(is_missing).map(|rank| rank.to_string()).collect();
    WorldError(format!(
        "rank {} waited {} s for rank {} of {}, which did not start; check the output of that rank, or increase {} (seconds)",
        ranks.rank,
        timeout.as_secs(),
        missing.join(", "),
        ranks.world,
        crate::ranks::TIMEOUT_VARIABLE
    ))
}

fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

fn gone(error: impl Display) -> WorldError {
    WorldError(format!("the store of the ranks does not respond: {error}"))
}

fn world_error(error: impl Display) -> WorldError {
    WorldError(error.to_string())
}

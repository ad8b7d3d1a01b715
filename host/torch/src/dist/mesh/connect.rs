//! Connects every two ranks: each listens, publishes its address in the store, and connects to the ranks below it.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use super::super::group::{Member, Network};
use super::super::store::Store;
use super::interface;
use super::peer::{Peer, wait_for};
use crate::{Result, TorchError};

/// What a rank sends first: the secret of the rank that listens, and its own number.
const GREETING: usize = 20;
/// How long a connection may take to send its greeting.
const GREETING_TIME: Duration = Duration::from_secs(2);

/// The connections to all other ranks, by rank.
pub(super) fn connect(store: &Store, member: &Member) -> Result<Vec<Option<Peer>>> {
    let deadline = Instant::now() + member.timeout;
    let address = own_address(&member.network)?;
    let failed = |why: io::Error| {
        TorchError::new(&format!("could not listen for other ranks at {address}: {why}"))
    };
    let listener = TcpListener::bind((address, 0)).map_err(failed)?;
    let at = listener.local_addr().map_err(failed)?;
    let secret = secret();
    store.set(&member.rank.to_string(), format!("{at} {secret:032x}").as_bytes())?;
    let mut peers: Vec<_> = std::iter::repeat_with(|| None).take(member.world).collect();
    for (rank, peer) in peers.iter_mut().enumerate().take(member.rank) {
        *peer = Some(call(store, member, rank, deadline)?);
    }
    while let Some(rank) = (member.rank + 1..member.world).find(|rank| peers[*rank].is_none()) {
        if !wait_for(listener.as_fd(), libc::POLLIN, deadline).map_err(failed)? {
            let why = "it did not connect within the timeout".to_owned();
            return Err(TorchError::of_peer(rank, why));
        }
        let Ok((stream, from)) = listener.accept() else { continue };
        match greeted(stream, secret) {
            Ok((rank, stream)) if peers.get(rank).is_some_and(Option::is_none) => {
                peers[rank] = Some(Peer::new(rank, stream).map_err(failed)?);
            }
            _ => tracing::debug!("{from} connected, but is not a rank of this run"),
        }
    }
    Ok(peers)
}

/// Connects to a rank that listens.
fn call(store: &Store, member: &Member, rank: usize, deadline: Instant) -> Result<Peer> {
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(10));
    let entry = store.wait_for(&rank.to_string(), left())?;
    let entry = String::from_utf8_lossy(&entry);
    let parsed = entry.split_once(' ').and_then(|(address, secret)| {
        let address: SocketAddr = address.parse().ok()?;
        Some((address, u128::from_str_radix(secret, 16).ok()?))
    });
    let (address, secret) = parsed
        .ok_or_else(|| TorchError::of_peer(rank, format!("its address is invalid: {entry}")))?;
    let connected = || -> io::Result<Peer> {
        let mut stream = TcpStream::connect_timeout(&address, left())?;
        let own = u32::try_from(member.rank).unwrap_or(u32::MAX);
        let mut greeting = secret.to_le_bytes().to_vec();
        greeting.extend(own.to_le_bytes());
        stream.write_all(&greeting)?;
        Peer::new(rank, stream)
    };
    connected().map_err(|why| TorchError::of_peer(rank, format!("{address}: {why}")))
}

/// Reads the greeting of a connection; returns the rank that it comes from.
fn greeted(mut stream: TcpStream, secret: u128) -> io::Result<(usize, TcpStream)> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(GREETING_TIME))?;
    let mut greeting = [0; GREETING];
    stream.read_exact(&mut greeting)?;
    let (of_secret, of_rank) = greeting.split_at(16);
    if of_secret != secret.to_le_bytes() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let rank = of_rank.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
    Ok((rank, stream))
}

/// A number that no other process can guess: only ranks read the store.
fn secret() -> u128 {
    let half = || u128::from(RandomState::new().hash_one(std::process::id()));
    half() << 64 | half()
}

/// The address that other ranks connect to.
fn own_address(network: &Network) -> Result<IpAddr> {
    let resolve = |host: &str| {
        let found = (host, 0).to_socket_addrs().ok().and_then(|mut all| all.next());
        found.map(|address| address.ip())
    };
    match network {
        Network::Host(host) => resolve(host)
            .ok_or_else(|| TorchError::new(&format!("`{host}` is not an address of a machine"))),
        Network::Interface(name) => interface::address(name)
            .ok_or_else(|| TorchError::new(&format!("network interface `{name}` has no address"))),
        Network::Default => {
            let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            Ok(resolve(name.trim()).unwrap_or(Ipv4Addr::LOCALHOST.into()))
        }
    }
}

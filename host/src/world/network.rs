//! The address by which other ranks reach this one.

use crate::ranks::Ranks;
use crate::torch::dist::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};

/// The address from which this machine reaches rank 0.
pub(super) fn own_address(ranks: &Ranks) -> Option<IpAddr> {
    if is_local(ranks) {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    source_towards((ranks.address.as_str(), ranks.port))
}

/// How other ranks reach this one. `own` is the address from which it reaches rank 0, `others` are those of the other ranks.
pub(super) fn network(ranks: &Ranks, own: Option<IpAddr>, others: &[IpAddr]) -> Network {
    if let Some(interface) = &ranks.interface {
        return Network::Interface(interface.clone());
    }
    let is_elsewhere = |address: &IpAddr| is_local(ranks) || !address.is_loopback();
    // On many machines the host name resolves to a loopback address, which other machines cannot reach.
    let towards_others = || {
        let others = others.iter().filter(|address| !address.is_loopback());
        others.filter_map(|address| source_towards((*address, ranks.port))).find(is_elsewhere)
    };
    let found = own.filter(is_elsewhere).or_else(towards_others);
    found.map_or(Network::Default, |address| Network::Host(address.to_string()))
}

fn is_local(ranks: &Ranks) -> bool {
    ranks.local_world == ranks.world
}

/// The address that the system would send from; nothing is sent.
fn source_towards(target: impl ToSocketAddrs) -> Option<IpAddr> {
    let source = |target: std::net::SocketAddr| {
        let any: IpAddr = match target {
            std::net::SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            std::net::SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(target).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    target.to_socket_addrs().ok()?.find_map(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn ranks(world: usize, local_world: usize) -> Ranks {
        Ranks { world, local_world, ..Ranks::single() }
    }

    #[test]
    fn ranks_of_one_machine_talk_over_its_loopback_address() {
        let ranks = ranks(2, 2);
        let own = own_address(&ranks);
        assert_eq!(network(&ranks, own, &[]), Network::Host("127.0.0.1".to_owned()));
    }

    #[test]
    fn a_loopback_address_is_not_used_between_machines() {
        // No other address is known, so the default remains.
        assert_eq!(network(&ranks(2, 1), Some(HERE), &[HERE]), Network::Default);
        let own: IpAddr = [192, 0, 2, 7].into();
        assert_eq!(network(&ranks(2, 1), Some(own), &[]), Network::Host("192.0.2.7".to_owned()));
    }

    #[test]
    fn a_configured_interface_takes_precedence() {
        let ranks = Ranks { interface: Some("eth1".to_owned()), ..ranks(2, 1) };
        let own = Some([192, 0, 2, 7].into());
        assert_eq!(network(&ranks, own, &[]), Network::Interface("eth1".to_owned()));
    }
}

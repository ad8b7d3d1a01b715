//! The address of a network interface.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// The address of the interface of this name: of version 4 if it has one, else of version 6, but for one of the link alone.
pub(super) fn address(name: &str) -> Option<IpAddr> {
    let mut first = ptr::null_mut();
    // SAFETY: `first` is written on success.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return None;
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: a list that ends with null, and is freed only below.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: an entry has a zero-terminated name.
        if unsafe { CStr::from_ptr(entry.ifa_name) }.to_bytes() == name.as_bytes() {
            // SAFETY: an entry's address is null or one of its own family.
            found.extend(unsafe { address_of(entry.ifa_addr) });
        }
        next = entry.ifa_next;
    }
    // SAFETY: from `getifaddrs`, and not freed before.
    unsafe { libc::freeifaddrs(first) };
    let usable = |address: &&IpAddr| match address {
        IpAddr::V4(_) => true,
        IpAddr::V6(address) => !address.is_unicast_link_local(),
    };
    found.iter().filter(usable).min_by_key(|address| address.is_ipv6()).copied()
}

/// The address in a socket address.
///
/// # Safety
/// It is null, or as large as its family says.
unsafe fn address_of(socket: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: by the contract.
    let family = unsafe { socket.as_ref() }?.sa_family;
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: that is what the family says.
            let address = unsafe { ptr::read_unaligned(socket.cast::<libc::sockaddr_in>()) };
            Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: that is what the family says.
            let address = unsafe { ptr::read_unaligned(socket.cast::<libc::sockaddr_in6>()) };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_has_the_address_that_the_system_says() {
        assert_eq!(address("lo"), Some(Ipv4Addr::LOCALHOST.into()));
        assert_eq!(address("no-such-interface"), None);
    }
}

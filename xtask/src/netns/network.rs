//! Hosts in network namespaces, connected by a bridge in a separate namespace.

use std::process::Command;

use crate::process::{self, ProcessError};

/// The namespaces, until they are dropped. The machine's own network is not touched.
pub(super) struct Network {
    /// The namespace of the bridge; the prefix of the other names.
    bridge: String,
    hosts: usize,
}

impl Network {
    /// Connects this many hosts to a bridge.
    pub(super) fn new(hosts: usize) -> Result<Self, ProcessError> {
        let network = Self { bridge: format!("hookrack{}", std::process::id()), hosts };
        ip(&["netns", "add", &network.bridge])?;
        network.in_bridge(&["link", "add", "bridge", "type", "bridge"])?;
        network.in_bridge(&["link", "set", "bridge", "up"])?;
        for host in 0..hosts {
            network.add(host)?;
        }
        Ok(network)
    }

    fn add(&self, host: usize) -> Result<(), ProcessError> {
        let (name, port) = (self.namespace(host), port(host));
        ip(&["netns", "add", &name])?;
        let (pair, there) = (["type", "veth", "peer", "name"], ["eth0", "netns", &name]);
        self.in_bridge(&[&["link", "add", &port][..], &pair, &there].concat())?;
        self.in_bridge(&["link", "set", &port, "master", "bridge", "up"])?;
        let address = format!("{}/24", address(host));
        for args in [
            &["link", "set", "lo", "up"][..],
            &["address", "add", &address, "dev", "eth0"],
            &["link", "set", "eth0", "up"],
        ] {
            ip(&[&["-netns", &name], args].concat())?;
        }
        Ok(())
    }

    /// Cuts a host off: its packets are dropped silently.
    pub(super) fn cut(&self, host: usize) -> Result<(), ProcessError> {
        self.in_bridge(&["link", "set", &port(host), "down"])
    }

    /// A command that runs a program on a host.
    pub(super) fn command(&self, host: usize, program: &std::path::Path) -> Command {
        let mut command = process::command("ip");
        command.args(["netns", "exec", &self.namespace(host), "unshare", "--uts", "sh", "-c"]);
        command.arg(format!("hostname {} && exec \"$0\" \"$@\"", name(host))).arg(program);
        command
    }

    /// The processes that are still running on the hosts.
    pub(super) fn processes(&self) -> Result<Vec<String>, ProcessError> {
        let mut all = Vec::new();
        for host in 0..self.hosts {
            let pids = ip(&["netns", "pids", &self.namespace(host)])?;
            all.extend(pids.lines().map(|pid| format!("{} on {}", pid.trim(), name(host))));
        }
        Ok(all)
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}-{host}", self.bridge)
    }

    fn in_bridge(&self, args: &[&str]) -> Result<(), ProcessError> {
        ip(&[&["-netns", &self.bridge], args].concat()).map(drop)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Links end with their namespaces. Removing one that was not created fails, which is harmless.
        for host in 0..self.hosts {
            let _ = ip(&["netns", "delete", &self.namespace(host)]);
        }
        let _ = ip(&["netns", "delete", &self.bridge]);
    }
}

fn ip(args: &[&str]) -> Result<String, ProcessError> {
    process::output(process::command("ip").args(args))
}

/// The name of a host.
pub(super) fn name(host: usize) -> String {
    format!("node{host}")
}

/// The address of a host.
pub(super) fn address(host: usize) -> String {
    format!("10.87.0.{}", host + 1)
}

/// The bridge's end of a host's virtual cable.
fn port(host: usize) -> String {
    format!("port{host}")
}

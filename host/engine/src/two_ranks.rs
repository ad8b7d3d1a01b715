//! Two ranks as two threads of a test, which libtorch supports.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hookrack_torch::dist::{Address, Backend, Group, Member, Network, Server, Store};

const TIMEOUT: Duration = Duration::from_mins(1);

/// Runs `body` on two ranks, and returns both results.
pub(crate) fn on_two_ranks<T: Send>(body: impl Fn(Group) -> T + Sync) -> [T; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let rank = |rank: usize, server| {
        let address = Address { host: "127.0.0.1", port };
        let store = Store::connect(address, server, TIMEOUT).unwrap();
        let network = Network::Host("127.0.0.1".to_owned());
        let member = Member { rank, world: 2, network, timeout: TIMEOUT, activity: Arc::default() };
        body(Group::join(&store, &member, "test", Backend::Gloo).unwrap())
    };
    std::thread::scope(|scope| {
        let second = scope.spawn(|| rank(1, Server::Other));
        [rank(0, Server::Socket(listener.into())), second.join().unwrap()]
    })
}

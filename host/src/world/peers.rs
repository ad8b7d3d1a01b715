//! Finds the rank that failed: it reported the failure, or it stopped sending heartbeats.

use super::store_client::{LastHeartbeat, PERIOD, StoreClient};
use super::{World, done};
use crate::torch::{TorchError, dist};
use std::fmt;
use std::time::{Duration, Instant};

/// How long the rank that serves the store waits for the others to leave it.
const LEAVING: Duration = Duration::from_secs(3);
/// A rank without a heartbeat for this long is silent.
const SILENCE: Duration = Duration::from_secs(2);

/// Why the ranks cannot continue, as far as the remaining ones can tell.
struct Missing {
    /// The missing rank, if it is known.
    rank: Option<usize>,
    /// What happened to it, for the message.
    how: String,
}

impl Missing {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (rank, how) = text.split_once(' ').unwrap_or(("", &text));
        Self { rank: rank.parse().ok(), how: how.to_owned() }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rank {
            Some(rank) => write!(f, "{rank} {}", self.how),
            None => write!(f, "- {}", self.how),
        }
    }
}

impl World {
    /// Reports to the others that this rank has failed. They show the first failure reported, after this rank's position.
    pub fn report_failure(&self, why: &str) {
        if self.has_reported.replace(true) {
            return;
        }
        let (rank, host) = (self.ranks.rank, &self.hosts[self.ranks.rank]);
        let here = self.position.describe();
        self.publish("failed", format!("rank {rank} ({host}) failed in {here}: {why}"));
    }

    /// Publishes the first failure of the run; later ones are consequences.
    fn publish(&self, key: &'static str, text: String) {
        let published = self.ask(move |store| {
            let is_first = store.add("failures", 1)? == 1;
            if is_first { store.set(key, text.as_bytes()) } else { Ok(()) }
        });
        if let Err(error) = published {
            tracing::debug!("could not report the failure to the other ranks: {error}");
        }
    }

    /// An error that names the rank that made a collective fail.
    pub fn name_failure(&self, error: &TorchError) -> String {
        let named = self.find_failure(error);
        self.named.replace(Some(named.clone()));
        named
    }

    /// Whether a message passes on a failure of another rank: hooks get it as text.
    pub fn is_of_peers(&self, message: &str) -> bool {
        self.named.borrow().as_ref().is_some_and(|named| message.contains(named))
    }

    fn find_failure(&self, error: &TorchError) -> String {
        self.has_reported.set(true);
        self.dump_flight_record();
        let patience = self.deadlines.report(self.position.activity().elapsed());
        let deadline = Instant::now() + patience;
        let missing = loop {
            match self.ask(|store| Ok((store.get("failed")?, store.get("missing")?))) {
                Ok((Some(text), _)) => return String::from_utf8_lossy(&text).into_owned(),
                Ok((_, Some(missing))) => break Missing::read(&missing),
                Ok(_) if Instant::now() < deadline && !self.is_any_silent(patience) => {
                    std::thread::sleep(PERIOD / 5);
                }
                Ok(_) => {
                    let missing = self.find_missing();
                    self.publish("missing", missing.to_string());
                    break missing;
                }
                Err(_) => break self.missing_store(),
            }
        };
        self.blamed.set(missing.rank);
        let how = missing.how;
        format!("{how}; this rank waited in {}: {error}", self.position.describe())
    }

    /// Dumps libtorch's flight recorder, which has the last collectives, to analyze a hang.
    fn dump_flight_record(&self) {
        let Some(folder) = self.folder.get() else { return };
        let path = folder.join(format!("rank_{}.flight.json", self.ranks.rank));
        let written = dist::flight_record().map_err(|error| error.to_string()).and_then(|record| {
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&path, record))
                .map_err(|error| error.to_string())
        });
        match written {
            Ok(()) => {
                tracing::info!("wrote the last collectives of this rank to {}", path.display());
            }
            Err(error) => tracing::warn!("could not write {}: {error}", path.display()),
        }
    }

    /// The rank whose last heartbeat is oldest; otherwise one that is not in a collective while the others wait.
    fn find_missing(&self) -> Missing {
        let seen = self.seen();
        let others = seen.iter().enumerate().filter(|(rank, _)| *rank != self.ranks.rank);
        let last_seen = |seen: &Option<LastHeartbeat>| seen.as_ref().map(|seen| seen.at);
        if let Some((rank, seen)) = others.clone().min_by_key(|(_, seen)| last_seen(seen))
            && last_seen(seen).is_none_or(|at| at.elapsed() > SILENCE)
        {
            return self.silent(rank);
        }
        let is_elsewhere =
            |seen: &Option<LastHeartbeat>| !place(seen.as_ref()).contains("collective ");
        if let Some((rank, seen)) = others.clone().find(|(_, seen)| is_elsewhere(seen)) {
            let (host, place) = (&self.hosts[rank], place(seen.as_ref()));
            let how = format!(
                "rank {rank} ({host}) did not reach the collective in time; it is in {place}"
            );
            return Missing { rank: Some(rank), how };
        }
        let places: Vec<_> = others
            .map(|(rank, seen)| format!("rank {rank} is in {}", place(seen.as_ref())))
            .collect();
        let how = format!("the ranks did not reach the same collective: {}", places.join(", "));
        Missing { rank: None, how }
    }

    fn silent(&self, rank: usize) -> Missing {
        let seen = self.seen().into_iter().nth(rank).flatten();
        let since = seen.as_ref().map_or_else(String::new, |seen| {
            format!(" {:.0} s ago", seen.at.elapsed().as_secs_f64())
        });
        let (host, place) = (&self.hosts[rank], place(seen.as_ref()));
        let how = format!(
            "rank {rank} ({host}) stopped responding; its last known position was {place}{since}"
        );
        Missing { rank: Some(rank), how }
    }

    /// The store is lost: rank 0 or the launcher has ended, or a machine is cut off.
    fn missing_store(&self) -> Missing {
        let is_silent = self.client.borrow().as_ref().is_some_and(StoreClient::is_silent);
        let own = &self.hosts[self.ranks.rank];
        let cut_off = if is_silent && *own != self.hosts[0] {
            format!(", unless this machine ({own}) is cut off from the network")
        } else {
            String::new()
        };
        let Missing { rank, how } = if self.ranks.agent_store {
            let (host, port) = (&self.ranks.address, self.ranks.port);
            let how = format!("{} at {host}:{port} stopped responding", self.ranks.source);
            Missing { rank: None, how }
        } else {
            self.silent(0)
        };
        Missing { rank, how: how + &cut_off }
    }

    /// Whether another rank has sent no heartbeat for so long that it will not report anything.
    fn is_any_silent(&self, patience: Duration) -> bool {
        let is_silent = |seen: &Option<LastHeartbeat>| {
            seen.as_ref().is_some_and(|seen| seen.at.elapsed() > patience.max(SILENCE))
        };
        let seen = self.seen();
        seen.iter().enumerate().any(|(rank, seen)| rank != self.ranks.rank && is_silent(seen))
    }

    fn seen(&self) -> Vec<Option<LastHeartbeat>> {
        let client = self.client.borrow();
        client.as_ref().map_or_else(|| vec![None; self.ranks.world], StoreClient::seen)
    }

    /// Waits until the other ranks have left the store, which ends with this process.
    pub(super) fn await_others(&self) {
        let deadline = Instant::now() + LEAVING;
        let blamed = self.blamed.get();
        let others: Vec<_> = (1..self.ranks.world).filter(|rank| Some(*rank) != blamed).collect();
        let are_done = || {
            let others = others.clone();
            self.ask(move |store| {
                let mut others = others.into_iter();
                others.try_fold(true, |all, rank| Ok(all && store.get(&done(rank))?.is_some()))
            })
        };
        while matches!(are_done(), Ok(false)) && Instant::now() < deadline {
            std::thread::sleep(PERIOD / 50);
        }
    }
}

fn place(seen: Option<&LastHeartbeat>) -> &str {
    seen.and_then(|seen| Some(seen.beat.split_once(' ')?.1)).unwrap_or("its start")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_rank_publishes_another_one_reads() {
        for rank in [None, Some(0), Some(12)] {
            let missing = Missing { rank, how: "rank 3 stopped: why".to_owned() };
            let read = Missing::read(missing.to_string().as_bytes());
            assert_eq!((read.rank, read.how), (missing.rank, missing.how));
        }
    }
}

//! Finds the rank that failed: it reported the failure, or it stopped sending heartbeats.

use super::store_client::{PERIOD, Seen, StoreClient};
use super::{World, done};
use crate::torch::{TorchError, dist};
use std::time::{Duration, Instant};

/// How long to wait for a failed rank to report why.
const PATIENCE: Duration = Duration::from_secs(3);
/// A rank without a heartbeat for this long is silent.
const SILENCE: Duration = Duration::from_secs(2);

impl World {
    /// Reports to the others that this rank has failed. They show the first failure reported.
    pub fn tell_failure(&self, why: &str) {
        if self.has_told.replace(true) {
            return;
        }
        let (rank, host) = (self.ranks.rank, &self.hosts[self.ranks.rank]);
        let here = self.position.describe();
        self.publish("failed", format!("rank {rank} ({host}) failed in {here}: {why}"));
    }

    /// Publishes the first failure of the run; later ones are consequences.
    fn publish(&self, key: &'static str, text: String) {
        let told = self.ask(move |store| {
            let is_first = store.add("failures", 1)? == 1;
            if is_first { store.set(key, text.as_bytes()) } else { Ok(()) }
        });
        if let Err(error) = told {
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
        self.has_told.set(true);
        self.dump_flight_record();
        let deadline = Instant::now() + PATIENCE;
        let silent = loop {
            match self.ask(|store| Ok((store.get("failed")?, store.get("silent")?))) {
                Ok((Some(text), _)) => return String::from_utf8_lossy(&text).into_owned(),
                Ok((_, Some(text))) => break String::from_utf8_lossy(&text).into_owned(),
                Ok(_) if Instant::now() < deadline => std::thread::sleep(PERIOD / 5),
                Ok(_) => {
                    let silent = self.name_by_silence();
                    self.publish("silent", silent.clone());
                    break silent;
                }
                Err(_) => break self.name_store(),
            }
        };
        format!("{silent}; this rank waited in {}: {error}", self.position.describe())
    }

    /// Dumps libtorch's flight recorder, which has the last collectives, to analyse a hang.
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

    /// Names the rank whose last heartbeat is oldest; otherwise one that is not in a collective while the others wait.
    fn name_by_silence(&self) -> String {
        let seen = self.seen();
        let others = seen.iter().enumerate().filter(|(rank, _)| *rank != self.ranks.rank);
        let told = |seen: &Option<Seen>| seen.as_ref().map(|seen| seen.at);
        if let Some((rank, seen)) = others.clone().min_by_key(|(_, seen)| told(seen))
            && told(seen).is_none_or(|at| at.elapsed() > SILENCE)
        {
            return self.name_silent(rank);
        }
        let is_elsewhere = |seen: &Option<Seen>| !place(seen.as_ref()).contains("collective ");
        if let Some((rank, seen)) = others.clone().find(|(_, seen)| is_elsewhere(seen)) {
            let (host, place) = (&self.hosts[rank], place(seen.as_ref()));
            return format!(
                "rank {rank} ({host}) did not reach the collective in time; it is in {place}"
            );
        }
        let places: Vec<_> = others
            .map(|(rank, seen)| format!("rank {rank} is in {}", place(seen.as_ref())))
            .collect();
        format!("the ranks did not reach the same collective: {}", places.join(", "))
    }

    fn name_silent(&self, rank: usize) -> String {
        let seen = self.seen().into_iter().nth(rank).flatten();
        let since = seen.as_ref().map_or_else(String::new, |seen| {
            format!(" {:.0} s ago", seen.at.elapsed().as_secs_f64())
        });
        let (host, place) = (&self.hosts[rank], place(seen.as_ref()));
        format!(
            "rank {rank} ({host}) stopped responding; its last known position was {place}{since}"
        )
    }

    /// An error for a lost store: rank 0 or the launcher has ended, or a machine is cut off.
    fn name_store(&self) -> String {
        let is_silent = self.client.borrow().as_ref().is_some_and(StoreClient::is_silent);
        let own = &self.hosts[self.ranks.rank];
        let cut_off = if is_silent && *own != self.hosts[0] {
            format!(", unless this machine ({own}) is cut off from the network")
        } else {
            String::new()
        };
        if self.ranks.agent_store {
            let (host, port) = (&self.ranks.address, self.ranks.port);
            return format!("{} at {host}:{port} stopped responding{cut_off}", self.ranks.source);
        }
        self.name_silent(0) + &cut_off
    }

    fn seen(&self) -> Vec<Option<Seen>> {
        let client = self.client.borrow();
        client.as_ref().map_or_else(|| vec![None; self.ranks.world], StoreClient::seen)
    }

    /// Waits until the other ranks have left the store, which ends with this process.
    pub(super) fn await_others(&self) {
        let deadline = Instant::now() + PATIENCE;
        let world = self.ranks.world;
        let are_done = move || {
            self.ask(move |store| {
                let mut others = 1..world;
                others.try_fold(true, |all, rank| Ok(all && store.get(&done(rank))?.is_some()))
            })
        };
        while matches!(are_done(), Ok(false)) && Instant::now() < deadline {
            std::thread::sleep(PERIOD / 50);
        }
    }
}

fn place(seen: Option<&Seen>) -> &str {
    seen.and_then(|seen| Some(seen.beat.split_once(' ')?.1)).unwrap_or("its start")
}

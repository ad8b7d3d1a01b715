//! Finds the rank that failed: it reported the failure, or it stopped sending heartbeats.

use super::World;
use super::heartbeat::{Heartbeat, PERIOD, Seen};
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
        let told = self.store.add("failures", 1).and_then(|count| {
            if count > 1 {
                return Ok(());
            }
            let text =
                format!("rank {rank} ({host}) failed in {}: {why}", self.position.describe());
            self.store.set("failed", text.as_bytes())
        });
        if let Err(error) = told {
            tracing::debug!("could not report the failure to the other ranks: {error}");
        }
    }

    /// An error that names the rank that made a collective fail.
    pub fn name_failure(&self, error: &TorchError) -> String {
        self.has_told.set(true);
        self.dump_flight_record();
        let deadline = Instant::now() + PATIENCE;
        let found = loop {
            match self.store.get("failed") {
                Ok(Some(text)) => break Some(String::from_utf8_lossy(&text).into_owned()),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(PERIOD / 5),
                Ok(None) => break None,
                // The store ended with rank 0.
                Err(_) => return self.name_silent(0, error),
            }
        };
        found.unwrap_or_else(|| self.name_by_silence(error))
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

    fn name_by_silence(&self, error: &TorchError) -> String {
        let seen = self.seen();
        let is_silent =
            |seen: &Option<Seen>| seen.as_ref().is_none_or(|it| it.at.elapsed() > SILENCE);
        let others = seen.iter().enumerate().filter(|(rank, _)| *rank != self.ranks.rank);
        if let Some((rank, _)) = others.clone().find(|(_, seen)| is_silent(seen)) {
            return self.name_silent(rank, error);
        }
        let places: Vec<_> = others
            .map(|(rank, seen)| format!("rank {rank} is in {}", place(seen.as_ref())))
            .collect();
        let (here, places) = (self.position.describe(), places.join(", "));
        format!("the ranks did not reach the same collective in {here}: {places}; {error}")
    }

    fn name_silent(&self, rank: usize, error: &TorchError) -> String {
        let seen = self.seen().into_iter().nth(rank).flatten();
        let since = seen.as_ref().map_or_else(String::new, |seen| {
            format!(" {:.0} s ago", seen.at.elapsed().as_secs_f64())
        });
        format!(
            "rank {rank} ({}) stopped responding; its last known position was {}{since}; this rank waited for it in {}: \
             {error}",
            self.hosts[rank],
            place(seen.as_ref()),
            self.position.describe()
        )
    }

    fn seen(&self) -> Vec<Option<Seen>> {
        let heartbeat = self.heartbeat.borrow();
        heartbeat.as_ref().map_or_else(|| vec![None; self.ranks.world], Heartbeat::seen)
    }

    /// Waits until the other ranks have left the store, which ends with this process.
    pub(super) fn await_others(&self) {
        let deadline = Instant::now() + PATIENCE;
        let is_done = |rank| matches!(self.store.get(&format!("done/{rank}")), Ok(Some(_)));
        while !(1..self.ranks.world).all(is_done) && Instant::now() < deadline {
            std::thread::sleep(PERIOD / 50);
        }
    }
}

fn place(seen: Option<&Seen>) -> &str {
    seen.and_then(|seen| Some(seen.beat.split_once(' ')?.1)).unwrap_or("its start")
}

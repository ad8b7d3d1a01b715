//! A few numbers of every rank, for all of them: what the loop exchanges in each iteration.
//!
//! Such messages cost latency, not bandwidth. Libtorch's all-reduce passes 2 (n - 1) messages around a ring, one after another, by way of
//! a queue and a thread. Here each rank sends its numbers to all others at once, from the thread that asks, and may compute until it needs
//! theirs.

use tch::kind::Element;
use tch::{Device, Tensor};

use super::group::{Group, Pending};
use crate::Result;

/// The messages of a group's numbers. Other messages of the group must have another tag.
const TAG: u8 = u8::MAX;

/// Numbers of all ranks that are on their way.
#[derive(Debug)]
#[must_use = "the numbers are there after `gather_numbers_finish`"]
pub struct Gathering {
    // A row for each rank.
    rows: Tensor,
    messages: Vec<Pending>,
}

impl Group {
    /// The numbers of every rank, in the order of ranks. All ranks must pass the same number of them.
    ///
    /// # Errors
    /// Another rank has failed, or does not join within the timeout.
    pub fn gather_numbers<T: Element + Copy>(&self, own: &[T]) -> Result<Vec<T>> {
        let started = self.gather_numbers_start(own)?;
        self.gather_numbers_finish(started)
    }

    /// Starts what [`gather_numbers`](Self::gather_numbers) does. Several may be on their way, if all ranks start and finish them in the
    /// same order.
    ///
    /// # Errors
    /// The group has failed before.
    pub fn gather_numbers_start<T: Element>(&self, own: &[T]) -> Result<Gathering> {
        let own = Tensor::f_from_slice(own)?;
        let rows = Tensor::f_empty([side(self.world()), own.size1()?], (T::KIND, Device::Cpu))?;
        rows.f_select(0, side(self.rank()))?.f_copy_(&own)?;
        let mut messages = Vec::with_capacity(2 * self.world());
        let others = (0..self.world()).filter(|rank| *rank != self.rank());
        // Gloo sends at once what the other rank has asked for, so this one asks first.
        for rank in others.clone() {
            messages.push(self.recv_start(&rows.f_select(0, side(rank))?, rank, TAG)?);
        }
        for rank in others {
            messages.push(self.send_start(&own, rank, TAG)?);
        }
        Ok(Gathering { rows, messages })
    }

    /// Waits for the numbers of all ranks.
    ///
    /// # Errors
    /// As [`gather_numbers`](Self::gather_numbers).
    pub fn gather_numbers_finish<T: Element + Copy>(&self, started: Gathering) -> Result<Vec<T>> {
        let Gathering { rows, messages } = started;
        self.during("all_gather", || messages.into_iter().try_for_each(Pending::wait))?;
        Ok(Vec::try_from(rows.f_flatten(0, -1)?)?)
    }
}

fn side(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

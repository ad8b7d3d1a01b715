//! A process group: ranks that call the same collectives in the same order.

use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

use tch::{Kind, Tensor};

use super::activity::{Activity, Collective};
use super::store::{Store, millis};
use super::{c_string, ffi, take_bytes};
use crate::error::check;
use crate::{Result, TorchError};

/// What carries the tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// TCP, for tensors on the CPU.
    Gloo,
    /// NVIDIA's library, for tensors on CUDA devices; those on the CPU go by Gloo. Untested: no machine had one.
    Nccl,
}

/// How other ranks reach this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// By the address of this machine's own name.
    Default,
    /// By this address of the machine.
    Host(String),
    /// By the address of this network interface.
    Interface(String),
}

/// This process as a member of groups.
#[derive(Debug)]
pub struct Member {
    /// Its rank.
    pub rank: usize,
    /// The number of processes.
    pub world: usize,
    /// How others reach it.
    pub network: Network,
    /// How long a collective may take.
    pub timeout: Duration,
    /// Where its collectives are recorded.
    pub activity: Arc<Activity>,
}

/// How the tensors of all ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their element-wise maximum.
    Max,
    /// Their element-wise minimum.
    Min,
}

/// A process group. Every rank must call the same collectives in the same order; one that does not arrive within the
/// timeout fails the call on all others, and the group with it.
#[derive(Debug)]
pub struct Group {
    raw: NonNull<ffi::RawGroup>,
    rank: usize,
    world: usize,
    name: &'static str,
    activity: Arc<Activity>,
}

// SAFETY: owned alone; libtorch's process groups are not bound to a thread.
unsafe impl Send for Group {}

impl Group {
    /// Joins the group of this name. All ranks meet in the store.
    ///
    /// # Errors
    /// Not all ranks join within the timeout, or the address is not one of this machine.
    pub fn join(
        store: &Store,
        member: &Member,
        name: &'static str,
        backend: Backend,
    ) -> Result<Self> {
        let below = store.below(name)?;
        let Member { rank, world, network, timeout, activity } = member;
        let (host, is_interface) = match network {
            Network::Default => ("", false),
            Network::Host(host) => (host.as_str(), false),
            Network::Interface(name) => (name.as_str(), true),
        };
        let (c_name, host) = (c_string(name)?, c_string(host)?);
        let mut raw = ptr::null_mut();
        // SAFETY: store and texts live through the call; `raw` is written on success.
        unsafe {
            check(ffi::hrt_group_new(
                below.as_raw(),
                number(*rank)?,
                number(*world)?,
                c_name.as_ptr(),
                host.as_ptr(),
                is_interface,
                backend == Backend::Nccl,
                millis(*timeout),
                &raw mut raw,
            ))?;
        }
        let raw = NonNull::new(raw)
            .ok_or_else(|| TorchError::new("a group was made but not handed over"))?;
        Ok(Self { raw, rank: *rank, world: *world, name, activity: Arc::clone(activity) })
    }

    /// Records that this process is in a collective of the group while `run` runs.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn during<T, E>(
        &self,
        collective: &'static str,
        run: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.activity.during(Collective { name: collective, group: self.name }, run)
    }

    /// The rank of this process.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes.
    pub fn world(&self) -> usize {
        self.world
    }

    /// Replaces `tensor` by the reduction over all ranks, in the background: it must not be touched before
    /// [`Pending::wait`].
    ///
    /// # Errors
    /// The group has already failed.
    pub fn all_reduce_start(&self, tensor: &Tensor, reduction: Reduction) -> Result<Pending> {
        let op = match reduction {
            Reduction::Sum => 0,
            Reduction::Max => 1,
            Reduction::Min => 2,
        };
        let mut raw = ptr::null_mut();
        // SAFETY: group and tensor live through the call; libtorch holds the tensor until the work is done.
        unsafe {
            check(ffi::hrt_all_reduce_start(self.raw.as_ptr(), tensor.as_ptr(), op, &raw mut raw))?;
        }
        Ok(Pending { raw: NonNull::new(raw) })
    }

    /// Replaces `tensor` by the reduction over all ranks.
    ///
    /// # Errors
    /// Another rank has failed, or does not join within the timeout.
    pub fn all_reduce(&self, tensor: &Tensor, reduction: Reduction) -> Result<()> {
        self.during("all_reduce", || self.all_reduce_start(tensor, reduction)?.wait())
    }

    /// Sends `tensor`, which lies in a row, to a rank in the background; the work holds it until it is sent. Messages of one tag arrive
    /// in the order in which they are sent, those of different tags in any.
    ///
    /// # Errors
    /// The group has failed before.
    pub fn send_start(&self, tensor: &Tensor, to: usize, tag: u8) -> Result<Pending> {
        let (group, to, mut raw) = (self.raw.as_ptr(), number(to)?, ptr::null_mut());
        // SAFETY: group and tensor live through the call; libtorch holds the tensor until the work is done.
        unsafe {
            check(ffi::hrt_send_start(group, tensor.as_ptr(), to, tag.into(), &raw mut raw))?;
        }
        Ok(Pending { raw: NonNull::new(raw) })
    }

    /// Fills `tensor`, which lies in a row, with what a rank sends, in the background: it must not be touched before
    /// [`Pending::wait`].
    ///
    /// # Errors
    /// The group has failed before.
    pub fn recv_start(&self, tensor: &Tensor, from: usize, tag: u8) -> Result<Pending> {
        let (group, from, mut raw) = (self.raw.as_ptr(), number(from)?, ptr::null_mut());
        // SAFETY: group and tensor live through the call; libtorch holds the tensor until the work is done.
        unsafe {
            check(ffi::hrt_recv_start(group, tensor.as_ptr(), from, tag.into(), &raw mut raw))?;
        }
        Ok(Pending { raw: NonNull::new(raw) })
    }

    /// Replaces `tensor` by that of rank `root`.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn broadcast(&self, tensor: &Tensor, root: usize) -> Result<()> {
        let (group, root) = (self.raw.as_ptr(), number(root)?);
        // SAFETY: group and tensor live through the call, which waits.
        self.during("broadcast", || unsafe {
            check(ffi::hrt_broadcast(group, tensor.as_ptr(), root))
        })
    }

    /// The tensors of all ranks, which have the same shape, stacked in a new first dimension in the order of ranks.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        let mut shape = tensor.size();
        shape.insert(0, i64::try_from(self.world).unwrap_or(i64::MAX));
        // libtorch concatenates in the first dimension.
        let own = tensor.f_contiguous()?.f_view([-1])?;
        let room = [own.size1()? * shape[0]];
        let out = Tensor::f_empty(room, (own.kind(), own.device()))?;
        self.all_gather_into(&out, &own)?;
        Ok(out.f_view(shape.as_slice())?)
    }

    /// Fills `all` with the tensors of all ranks in rank order. Both must be contiguous, and `all` must have room for one tensor per
    /// rank.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn all_gather_into(&self, all: &Tensor, own: &Tensor) -> Result<()> {
        // SAFETY: group and tensors live through the call, which waits.
        self.during("all_gather", || unsafe {
            check(ffi::hrt_all_gather(self.raw.as_ptr(), all.as_ptr(), own.as_ptr()))
        })
    }

    /// The bytes of every rank, in the order of ranks; they may differ in length.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn all_gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let lengths: Vec<i64> =
            Vec::try_from(self.all_gather(&Tensor::from_slice(&[length]))?.f_flatten(0, -1)?)?;
        let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
        let padded = Tensor::f_zeros([longest], (Kind::Uint8, tch::Device::Cpu))?;
        padded.f_narrow(0, 0, length)?.f_copy_(&Tensor::f_from_slice(bytes)?)?;
        let rows = self.all_gather(&padded)?;
        let row = |(rank, length): (usize, &i64)| -> Result<Vec<u8>> {
            let rank = i64::try_from(rank).unwrap_or(i64::MAX);
            Ok(Vec::try_from(rows.f_select(0, rank)?.f_narrow(0, 0, *length)?)?)
        };
        lengths.iter().enumerate().map(row).collect()
    }

    /// Waits until every rank is here.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    pub fn barrier(&self) -> Result<()> {
        // SAFETY: the group lives through the call.
        self.during("barrier", || unsafe { check(ffi::hrt_barrier(self.raw.as_ptr())) })
    }

    pub(super) fn as_raw(&self) -> *mut ffi::RawGroup {
        self.raw.as_ptr()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: owned alone, and not freed before.
        unsafe { ffi::hrt_group_free(self.raw.as_ptr()) };
    }
}

/// A collective that runs in the background.
#[derive(Debug)]
#[must_use = "the tensor has its value after `wait`"]
pub struct Pending {
    raw: Option<NonNull<ffi::RawWork>>,
}

impl Pending {
    /// Waits until it is done.
    ///
    /// # Errors
    /// Another rank has failed, or does not join within the timeout.
    pub fn wait(mut self) -> Result<()> {
        // SAFETY: not waited for before: it is taken out.
        self.raw.take().map_or(Ok(()), |raw| unsafe { check(ffi::hrt_work_wait(raw.as_ptr())) })
    }

    /// Waits until it is done or the time is up; returns whether it is done.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_for(&self, time: Duration) -> Result<bool> {
        let Some(raw) = self.raw else { return Ok(true) };
        let mut done = false;
        // SAFETY: the work is held; `done` is written on success.
        unsafe { check(ffi::hrt_work_wait_for(raw.as_ptr(), millis(time), &raw mut done))? };
        Ok(done)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(raw) = self.raw.take() {
            // SAFETY: not waited for, so still held.
            unsafe { ffi::hrt_work_free(raw.as_ptr()) };
        }
    }
}

/// The last collectives of this process and their states, as JSON: libtorch's flight recorder.
///
/// # Errors
/// libtorch has none.
pub fn flight_record() -> Result<Vec<u8>> {
    let mut record = Vec::new();
    // SAFETY: `record` is what `take_bytes` expects.
    unsafe { check(ffi::hrt_flight_record(take_bytes, (&raw mut record).cast()))? };
    Ok(record)
}

fn number(count: usize) -> Result<c_int> {
    c_int::try_from(count).map_err(|_| TorchError::new(&format!("{count} ranks are too many")))
}

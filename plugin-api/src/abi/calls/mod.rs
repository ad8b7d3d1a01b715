//! Calls from a plugin into the host, each wrapped once: the safe half of the crate is built on these.

mod autograd;
mod checkpoints;
mod console;
mod engine;
mod events;
mod files;
mod history;
mod loss;
mod lr;
mod media;
mod metrics;
mod params;
mod pass;
mod precision;
mod profiler;
mod record;
mod roles;
mod step;
mod tensors;

use super::{
    EngineTable, EventTable, HrProgress, HrStatus, HrStr, StateTable, TensorTable, TrainerHandle,
};
use crate::error::{Error, Result};
use std::ffi::c_void;

/// The host as one hook instance sees it. The handle behind it outlives the instance.
#[derive(Clone, Copy)]
pub struct Host(&'static TrainerHandle);

type Slot<T> = unsafe extern "C" fn(*mut c_void, u32, *mut T) -> HrStatus;

impl Host {
    /// Takes a handle that came over the wire.
    ///
    /// # Safety
    /// The handle must be a host's, valid until the instance that it was made for is destroyed.
    pub unsafe fn from_raw(handle: *const TrainerHandle) -> Self {
        // SAFETY: the caller vouches for the handle; instances are the only ones that keep a `Host`.
        Self(unsafe { &*handle })
    }

    pub(super) fn raw(self) -> *mut c_void {
        self.0.host
    }

    pub(super) fn tensors(self) -> &'static TensorTable {
        // SAFETY: a host fills every table pointer of its handle with a table that lives as long as the handle.
        unsafe { &*self.0.tensors }
    }

    pub(super) fn engine(self) -> &'static EngineTable {
        // SAFETY: as in `tensors`.
        unsafe { &*self.0.engine }
    }

    pub(super) fn events(self) -> &'static EventTable {
        // SAFETY: as in `tensors`.
        unsafe { &*self.0.events }
    }

    pub(super) fn states(self) -> &'static StateTable {
        // SAFETY: as in `tensors`.
        unsafe { &*self.0.states }
    }

    /// Turns a status into a result, with the text that the host kept.
    pub(super) fn check(self, status: HrStatus) -> Result<()> {
        if status == HrStatus::OK {
            return Ok(());
        }
        // SAFETY: the handle is valid; the text is copied before the next call.
        Err(Error::new(unsafe { (self.0.last_error)(self.raw()).to_lossy() }))
    }

    /// Like `check`, with ABSENT as `None`.
    pub(super) fn present<T>(self, status: HrStatus, value: T) -> Result<Option<T>> {
        if status == HrStatus::ABSENT {
            return Ok(None);
        }
        self.check(status).map(|()| Some(value))
    }

    pub(super) fn fill<T: Copy>(
        self,
        function: Slot<T>,
        index: u32,
        empty: T,
    ) -> Result<Option<T>> {
        let mut out = empty;
        // SAFETY: the host writes one `T` to a place that is there for it.
        let status = unsafe { function(self.raw(), index, &raw mut out) };
        self.present(status, out)
    }

    /// Where the run is.
    #[inline]
    pub fn progress(self) -> HrProgress {
        // SAFETY: the host keeps the struct at one address and changes it only between or inside its own calls,
        // on this thread; it is copied out here.
        unsafe { self.0.progress.read() }
    }

    /// The instance's name.
    pub fn instance(self) -> &'static str {
        // SAFETY: the name is lent for the run and was UTF-8 in the config.
        match unsafe { self.0.instance.to_lossy() } {
            std::borrow::Cow::Borrowed(name) => name,
            std::borrow::Cow::Owned(_) => "",
        }
    }

    /// Whether anybody listens to lines of this level.
    #[inline]
    pub fn log_enabled(self, level: u32) -> bool {
        // SAFETY: the host keeps the number at one address; a torn read is not possible for 32 aligned bits.
        level <= unsafe { self.0.log_level.read_volatile() }
    }

    /// Hands a line to the host's log.
    pub fn log(self, level: u32, target: &str, message: &str) {
        // SAFETY: both texts are lent until the call returns.
        unsafe { (self.0.log)(self.raw(), level, HrStr::new(target), HrStr::new(message)) }
    }

    /// Says why the status about to be returned is not OK.
    pub fn set_error(self, message: &str) {
        // SAFETY: the text is lent until the call returns.
        unsafe { (self.0.set_error)(self.raw(), HrStr::new(message)) }
    }

    /// Asks for something.
    pub fn request(self, what: u32, why: &str) -> Result<()> {
        // SAFETY: the text is lent until the call returns.
        self.check(unsafe { (self.0.request)(self.raw(), what, HrStr::new(why)) })
    }

    /// The failure that the run ended with, if any.
    pub fn failure(self) -> Option<String> {
        // SAFETY: the text is copied before the point returns.
        let text = unsafe { (self.0.failure)(self.raw()).to_lossy() };
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// A later service by its id; null where this host has none.
    pub fn extension(self, id: &str) -> *const c_void {
        // SAFETY: the id is lent until the call returns.
        unsafe { (self.0.extension)(self.raw(), HrStr::new(id)) }
    }
}

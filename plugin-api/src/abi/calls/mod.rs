//! Safe wrappers of all calls from a plugin to the host, on which the rest of the crate is built.

mod checkpoints;
mod gradients;
mod metrics;
mod older;
mod rows;
mod tables;
mod trees;
mod wire;

use super::{
    ABI_MAJOR, EXTENSIONS, EngineTable, EventTable, Extension, HrProgress, HrStatus, HrStr,
    StateTable, TensorTable, TrainerHandle,
};
use crate::error::{Error, Result};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// The host as one hook instance sees it. The handle behind it outlives the instance.
///
/// It is bound to the training thread, and so is all that is made with it: neither `Send` nor `Sync`. Only log messages may be
/// sent from any thread.
#[derive(Clone, Copy)]
pub struct Host(&'static Link, PhantomData<*const ()>);

/// The part of the host that any thread may use: its log.
#[derive(Clone, Copy)]
pub(crate) struct LogHandle(&'static TrainerHandle);

/// A handle, and the extensions that were looked up through it.
struct Link {
    handle: &'static TrainerHandle,
    // By `Extension::INDEX`: what the host answered, once it was asked.
    extensions: [OnceLock<Option<Table>>; EXTENSIONS.len()],
}

/// An extension's table.
#[derive(Clone, Copy)]
struct Table(NonNull<c_void>);

// SAFETY: a table is immutable and valid for the process; its functions say which thread may call them.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl LogHandle {
    /// Whether messages of this level are logged.
    #[inline]
    pub(crate) fn enabled(self, level: u32) -> bool {
        // SAFETY: the host keeps the number at one address; a torn read is not possible for 32 aligned bits.
        level <= unsafe { self.0.log_level.read_volatile() }
    }

    /// Writes a line to the host's log.
    pub(crate) fn write(self, level: u32, target: &str, message: &str) {
        // SAFETY: both texts are lent until the call returns; the host takes lines from any thread.
        unsafe { (self.0.log)(self.0.host, level, HrStr::new(target), HrStr::new(message)) }
    }
}

/// A table of the host.
trait HostTable: 'static {
    /// The table of a host, or why it has none.
    fn of(host: Host) -> Result<&'static Self>;
}

impl<T: Extension> HostTable for T {
    #[inline]
    fn of(host: Host) -> Result<&'static Self> {
        host.find::<T>().ok_or_else(|| host.too_old::<T>())
    }
}

/// A table of the handle, which every host has.
trait HandleTable: 'static {
    /// Where the handle has it.
    fn at(handle: &TrainerHandle) -> *const Self;
}

macro_rules! handle_tables {
    ($($table:ident $field:ident),*) => { $(
        impl HandleTable for $table {
            fn at(handle: &TrainerHandle) -> *const Self { handle.$field }
        }
        impl HostTable for $table {
            #[inline]
            fn of(host: Host) -> Result<&'static Self> { Ok(host.handle_table()) }
        }
    )* };
}
handle_tables!(TensorTable tensors, EngineTable engine, EventTable events, StateTable states);

impl Host {
    /// Takes a handle that came over the wire: once per instance, since some bytes are allocated for the life of the
    /// process (as the host does for the handle: a thread of the plugin may log after the instance is gone).
    ///
    /// # Safety
    /// The handle must be a host's, valid until the instance that it was made for is destroyed.
    pub unsafe fn from_raw(handle: *const TrainerHandle) -> Self {
        // SAFETY: the caller vouches for the handle; instances are the only ones that keep a `Host`.
        let handle = unsafe { &*handle };
        let extensions = [const { OnceLock::new() }; EXTENSIONS.len()];
        Self(Box::leak(Box::new(Link { handle, extensions })), PhantomData)
    }

    fn raw(self) -> *mut c_void {
        self.0.handle.host
    }

    /// A table that every host has.
    #[inline]
    fn handle_table<T: HandleTable>(self) -> &'static T {
        // SAFETY: a host fills every table pointer of its handle with a table that lives as long as the handle.
        unsafe { &*T::at(self.0.handle) }
    }

    /// A table, or an error if this host does not offer it.
    #[inline]
    fn table<T: HostTable>(self) -> Result<&'static T> {
        T::of(self)
    }

    /// The number of parameter groups of the optimizer.
    pub fn group_count(self) -> usize {
        // SAFETY: a valid handle is all it needs.
        unsafe { (self.handle_table::<EngineTable>().group_count)(self.raw()) }
    }

    /// Converts a status to a result, with the host's error message.
    fn check(self, status: HrStatus) -> Result<()> {
        if status == HrStatus::OK {
            return Ok(());
        }
        // SAFETY: the handle is valid; the text is copied before the next call.
        Err(Error::new(unsafe { (self.0.handle.last_error)(self.raw()).to_lossy() }))
    }

    /// Like `check`; false for ABSENT.
    fn present(self, status: HrStatus) -> Result<bool> {
        if status == HrStatus::ABSENT {
            return Ok(false);
        }
        self.check(status).map(|()| true)
    }

    /// The progress of the run.
    #[inline]
    pub fn progress(self) -> HrProgress {
        // SAFETY: the host keeps the struct at one address and changes it only between or inside its own calls,
        // on this thread; it is copied out here.
        unsafe { self.0.handle.progress.read() }
    }

    /// The instance's name.
    pub fn instance(self) -> &'static str {
        // SAFETY: the name is lent for the run and was UTF-8 in the config.
        match unsafe { self.0.handle.instance.to_lossy() } {
            std::borrow::Cow::Borrowed(name) => name,
            std::borrow::Cow::Owned(_) => "",
        }
    }

    /// The log, for any thread.
    pub(crate) fn log(self) -> LogHandle {
        LogHandle(self.0.handle)
    }

    /// Sets the message of the failure that is about to be returned.
    pub fn set_error(self, message: &str) {
        // SAFETY: the text is lent until the call returns.
        unsafe { (self.0.handle.set_error)(self.raw(), HrStr::new(message)) }
    }

    /// Makes a request.
    pub fn request(self, what: u32, why: &str) -> Result<()> {
        // SAFETY: the text is lent until the call returns.
        self.check(unsafe { (self.0.handle.request)(self.raw(), what, HrStr::new(why)) })
    }

    /// The error that ended the run, if any.
    pub fn failure(self) -> Option<String> {
        // SAFETY: the text is copied before the point returns.
        let text = unsafe { (self.0.handle.failure)(self.raw()).to_lossy() };
        (!text.is_empty()).then(|| text.into_owned())
    }

    /// The table of an extension; `None` if this host does not offer it. Looked up once per instance.
    #[inline]
    fn find<T: Extension>(self) -> Option<&'static T> {
        let found = self.0.extensions[T::INDEX]
            .get_or_init(|| NonNull::new(self.extension(T::ID).cast_mut()).map(Table));
        // SAFETY: under this id a host returns this very table, valid for the process.
        found.map(|table| unsafe { table.0.cast().as_ref() })
    }

    #[cold]
    fn too_old<T: Extension>(self) -> Error {
        let header = self.0.handle.header;
        Error::new(format!(
            "this host (ABI {}.{}) does not offer `{}`: use one with ABI {ABI_MAJOR}.{} or later",
            header.abi_major,
            header.abi_minor,
            T::ID,
            T::SINCE
        ))
    }

    /// The table of an extension by its id; null if this host does not have it. Looked up at each call.
    pub fn extension(self, id: &str) -> *const c_void {
        // SAFETY: the id is lent until the call returns.
        unsafe { (self.0.handle.extension)(self.raw(), HrStr::new(id)) }
    }
}

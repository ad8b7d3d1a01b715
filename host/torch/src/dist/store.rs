//! The store: a table of bytes that all ranks reach over TCP.

use std::ffi::{CString, c_int, c_void};
use std::os::fd::{IntoRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::time::Duration;

use super::{c_string, ffi, take_bytes};
use crate::Result;
use crate::error::check;

/// Where the store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// Name or address of the machine.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

/// Who serves the store.
#[derive(Debug)]
pub enum Server {
    /// Another process.
    Other,
    /// This process, at the address.
    Own,
    /// This process, on a socket that already listens at the address.
    Socket(OwnedFd),
}

/// A connection to the store. Calls from one thread at a time; [`Store::reconnect`] gives another thread its own.
#[derive(Debug)]
pub struct Store {
    raw: NonNull<ffi::RawStore>,
}

// SAFETY: owned alone; the connection is not bound to the thread that made it.
unsafe impl Send for Store {}

impl Store {
    /// Connects to the store at an address, and first starts it there if this process is its server.
    ///
    /// # Errors
    /// The port is in use, or there is no answer within the timeout.
    pub fn connect(address: Address<'_>, server: Server, timeout: Duration) -> Result<Self> {
        crate::start();
        let (host, port, timeout) = (c_string(address.host)?, address.port, millis(timeout));
        let (is_server, listener): (bool, c_int) = match server {
            Server::Other => (false, -1),
            Server::Own => (true, -1),
            Server::Socket(socket) => (true, socket.into_raw_fd()),
        };
        // SAFETY: the name lives through the call, which becomes the owner of the socket; `out` is written on success.
        made(|out| unsafe {
            ffi::hrt_store_connect(host.as_ptr(), port, is_server, listener, timeout, out)
        })
    }

    /// Another connection to the same store.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn reconnect(&self) -> Result<Self> {
        // SAFETY: this store lives through the call.
        made(|out| unsafe { ffi::hrt_store_clone(self.raw.as_ptr(), out) })
    }

    /// The part of the store whose keys begin with `prefix`, over the same connection.
    ///
    /// # Errors
    /// The prefix contains a zero byte.
    pub fn below(&self, prefix: &str) -> Result<Self> {
        let prefix = c_string(prefix)?;
        // SAFETY: store and prefix live through the call.
        made(|out| unsafe { ffi::hrt_store_prefix(self.raw.as_ptr(), prefix.as_ptr(), out) })
    }

    /// Sets a key.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn set(&self, key: &str, value: &[u8]) -> Result<()> {
        let key = c_string(key)?;
        // SAFETY: store, key and value live through the call.
        unsafe {
            check(ffi::hrt_store_set(self.raw.as_ptr(), key.as_ptr(), value.as_ptr(), value.len()))
        }
    }

    /// Adds to a counter, which begins at zero, and returns its new value.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn add(&self, key: &str, amount: i64) -> Result<i64> {
        let (key, mut sum) = (c_string(key)?, 0);
        // SAFETY: store and key live through the call; `sum` is written on success.
        unsafe {
            check(ffi::hrt_store_add(self.raw.as_ptr(), key.as_ptr(), amount, &raw mut sum))?;
        }
        Ok(sum)
    }

    /// The value of a key, if it is set.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let (name, mut is_there) = (c_string(key)?, false);
        // SAFETY: store and key live through the call; `is_there` is written on success.
        unsafe {
            check(ffi::hrt_store_has(self.raw.as_ptr(), name.as_ptr(), &raw mut is_there))?;
        }
        if is_there { self.wait_for(key, Duration::from_secs(1)).map(Some) } else { Ok(None) }
    }

    /// The values of several keys, in one round trip. Waits for those that are not set yet.
    ///
    /// # Errors
    /// One is not set within the store's timeout, or the store does not answer.
    pub fn get_all(&self, keys: &[String]) -> Result<Vec<Vec<u8>>> {
        let keys = keys.iter().map(|key| c_string(key)).collect::<Result<Vec<CString>>>()?;
        let keys: Vec<_> = keys.iter().map(|key| key.as_ptr()).collect();
        let mut values = Vec::with_capacity(keys.len());
        // SAFETY: store and keys live through the call, and `values` is what `take_each` expects.
        unsafe {
            check(ffi::hrt_store_get_all(
                self.raw.as_ptr(),
                keys.as_ptr(),
                keys.len(),
                take_each,
                (&raw mut values).cast(),
            ))?;
        }
        Ok(values)
    }

    /// Waits for a key, and returns its value.
    ///
    /// # Errors
    /// It is not set within the timeout, or the store does not answer.
    pub fn wait_for(&self, key: &str, timeout: Duration) -> Result<Vec<u8>> {
        let (key, mut value) = (c_string(key)?, Vec::new());
        // SAFETY: store and key live through the call, and `value` is what `take_bytes` expects.
        unsafe {
            check(ffi::hrt_store_get(
                self.raw.as_ptr(),
                key.as_ptr(),
                millis(timeout),
                take_bytes,
                (&raw mut value).cast(),
            ))?;
        }
        Ok(value)
    }

    pub(super) fn as_raw(&self) -> *mut ffi::RawStore {
        self.raw.as_ptr()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: owned alone, and not freed before.
        unsafe { ffi::hrt_store_free(self.raw.as_ptr()) };
    }
}

fn made(make: impl FnOnce(*mut *mut ffi::RawStore) -> *mut std::ffi::c_char) -> Result<Store> {
    let mut raw = ptr::null_mut();
    // SAFETY: the message is the shim's.
    unsafe { check(make(&raw mut raw))? };
    let raw = NonNull::new(raw)
        .ok_or_else(|| crate::TorchError::new("a store was made but not handed over"))?;
    Ok(Store { raw })
}

/// Copies bytes that the shim lends into a new element of the vector behind `taker`.
unsafe extern "C" fn take_each(taker: *mut c_void, bytes: *const u8, length: usize) {
    let mut value = Vec::new();
    // SAFETY: the bytes are those that the shim lends, and `value` is borrowed alone until the call returns.
    unsafe { take_bytes((&raw mut value).cast(), bytes, length) };
    // SAFETY: the taker is the vector that the call was given, borrowed alone until the call returns.
    unsafe { (*taker.cast::<Vec<Vec<u8>>>()).push(value) };
}

pub(super) fn millis(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).min(i64::MAX.unsigned_abs() / 1_000_000)
}

//! The store: a table of bytes that all ranks reach over TCP.

use std::ptr::{self, NonNull};
use std::time::Duration;

use super::{c_string, ffi, take_bytes};
use crate::Result;
use crate::error::check;

/// Where the store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// Name or number of the machine.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

/// A connection to the store. Calls from one thread at a time; [`Store::reconnect`] gives another thread its own.
#[derive(Debug)]
pub struct Store {
    raw: NonNull<ffi::RawStore>,
}

// SAFETY: owned alone; the connection is not bound to the thread that made it.
unsafe impl Send for Store {}

impl Store {
    /// Connects to the store at an address, and first starts it there if this process serves it.
    ///
    /// # Errors
    /// The port is in use, or there is no answer within the timeout.
    pub fn connect(address: Address<'_>, is_server: bool, timeout: Duration) -> Result<Self> {
        crate::start();
        let host = c_string(address.host)?;
        // SAFETY: the name lives through the call; `out` is written on success.
        made(|out| unsafe {
            ffi::hrt_store_connect(host.as_ptr(), address.port, is_server, millis(timeout), out)
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
    /// The prefix holds a zero byte.
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

    /// Waits for a key, and returns its value.
    ///
    /// # Errors
    /// Nobody sets it within the timeout, or the store does not answer.
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

pub(super) fn millis(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).min(i64::MAX.unsigned_abs() / 1_000_000)
}

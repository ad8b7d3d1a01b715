//! The library that is being loaded: its code runs before there is a hook that a report could name.

use std::ffi::OsStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The file name, or null. What was set is never freed: a handler may be reading it.
static LIBRARY: AtomicPtr<String> = AtomicPtr::new(ptr::null_mut());

/// While it lives, a crash is one of loading a library.
pub(in crate::plugins) struct Loading(());

impl Loading {
    /// The code of this library is about to run.
    pub(in crate::plugins) fn begin(library: &OsStr) -> Self {
        let name = Box::leak(Box::new(library.to_string_lossy().into_owned()));
        LIBRARY.store(name, Ordering::Release);
        Self(())
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        LIBRARY.store(ptr::null_mut(), Ordering::Release);
    }
}

/// The file name of the library that is being loaded.
pub(super) fn library() -> Option<&'static str> {
    // SAFETY: only leaked boxes are stored.
    unsafe { LIBRARY.load(Ordering::Acquire).as_ref() }.map(String::as_str)
}

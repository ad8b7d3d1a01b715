//! Several processes: libtorch's c10d. A [`Store`] for keys and values, a [`Group`] for collectives, a [`Reducer`] for gradients;
//! and a [`Mesh`] for a few numbers.

mod activity;
mod ffi;
mod group;
mod mesh;
mod norm;
mod reducer;
mod store;

pub use activity::{Activity, Collective};
pub use group::{Backend, Group, Member, Network, Pending, Reduction, flight_record};
pub use mesh::{Mesh, Number, PendingNumbers};
pub use reducer::{BucketSizes, Reducer, ReducerOptions, bucket_bytes};
pub use store::{Address, Server, Store};

use std::ffi::{CString, c_void};

use crate::{Result, TorchError};

/// Suppresses the log lines that libtorch writes to standard error, unless `TORCH_CPP_LOG_LEVEL` is set: the same is in
/// the errors.
pub fn log_quietly() {
    // SAFETY: it only sets libtorch's level. A failure is harmless.
    let _ = unsafe { crate::error::check(ffi::hrt_log_quietly()) };
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| TorchError::new(&format!("{text:?} holds a zero byte")))
}

/// Copies bytes that the shim lends into the vector behind `taker`.
unsafe extern "C" fn take_bytes(taker: *mut c_void, bytes: *const u8, length: usize) {
    // SAFETY: the taker is the vector that the call was given, borrowed alone until the call returns.
    let out = unsafe { &mut *taker.cast::<Vec<u8>>() };
    if length > 0 {
        // SAFETY: the shim lends so many bytes until this returns.
        out.extend_from_slice(unsafe { std::slice::from_raw_parts(bytes, length) });
    }
}

#[cfg(test)]
mod tests;

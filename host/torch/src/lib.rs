//! The parts of libtorch that `tch` does not expose, as safe Rust over the C++ shim in `host/torch/shim/`.
//!
//! `tch` creates tensors and calls the ordinary operators (use only its fallible `f_*` functions: the others
//! panic). This crate adds operators by name, operations on lists of tensors in one call, fused optimizer steps,
//! and libtorch's global state: gradient mode, random numbers, threads.

#![expect(unsafe_code, reason = "the boundary to libtorch; every block says why it holds")]

pub mod allocator;
pub mod amp;
pub mod autograd;
pub mod batch_norm;
pub mod block;
pub mod buffer;
pub mod bytes;
pub mod cross_entropy;
pub mod dist;
pub mod dlpack;
mod error;
mod ffi;
pub mod foreach;
pub mod info;
pub mod kernels;
pub mod linear;
mod list;
pub mod mapped_file;
pub mod ops;
pub mod optim;
pub mod pool;
pub mod profiler;
pub mod rng;
#[doc(hidden)]
pub mod rounding;
pub mod script;
pub mod shape;
pub mod threads;
pub mod trace;
pub mod value;

pub use error::TorchError;
pub use ffi::RawList;
pub use list::TensorList;
pub use ops::{Effects, Op, storage_of};
pub use value::{Arg, RawValue, Return, Returns};

/// The result of a call into libtorch.
pub type Result<T> = std::result::Result<T, TorchError>;

/// Makes libtorch's errors short and cheap. Call it before the first tensor; calling it again is harmless.
pub fn start() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: takes nothing, and hands back null or a message that `check` frees.
        let started = unsafe { error::check(ffi::hrt_start()) };
        if let Err(error) = started {
            tracing::warn!(%error, "libtorch keeps its long error texts");
        }
    });
}

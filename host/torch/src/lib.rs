//! Everything libtorch that `tch` does not expose, as safe Rust over the C++ shim in `host/torch/shim/`.
//!
//! `tch` makes tensors and calls the ordinary operators (use its fallible `f_*` functions only: the others
//! panic). Here are operators by name, lists of tensors handled in one crossing, fused optimizer steps,
//! and the state of libtorch as a whole: gradient mode, random numbers, threads.

#![expect(unsafe_code, reason = "the boundary to libtorch; every block says why it holds")]

pub mod amp;
pub mod autograd;
pub mod block;
pub mod buffer;
pub mod dist;
pub mod dlpack;
mod error;
mod ffi;
pub mod foreach;
pub mod info;
mod list;
pub mod mapped_file;
pub mod ops;
pub mod optim;
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
pub use ops::Op;
pub use value::{Arg, RawValue, Return, Returns};

/// What a call into libtorch gives.
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

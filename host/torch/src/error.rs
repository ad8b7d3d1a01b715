//! An error from libtorch, reduced to the lines that say what went wrong.

use std::ffi::{CStr, c_char};

use super::ffi;

/// libtorch's message, without its C++ stack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{text}", if *is_own { "" } else { "libtorch: " })]
pub struct TorchError {
    text: String,
    // It says more than libtorch does.
    is_own: bool,
}

/// What libtorch's allocator prints before the number of bytes.
const NO_MEMORY: &str = "can't allocate memory: you tried to allocate ";

/// The message of a collective after this rank has left the others.
const LEFT: &str = "this rank has already left the other ranks";

/// What an error of a connection to another rank begins with.
const PEER: &str = "connection to rank ";

impl TorchError {
    /// Keeps the meaningful lines of a message.
    pub fn new(message: &str) -> Self {
        if let Some(bytes) = wanted_memory(message) {
            return Self::out_of_memory(bytes);
        }
        // A backward pass passes on what a collective in it has said.
        let message = message.strip_prefix("libtorch: ").unwrap_or(message);
        let text = message
            .lines()
            .take_while(|line| {
                !line.starts_with("Exception raised from") && !line.starts_with("C++ Capt")
            })
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("; ");
        let text = if text.is_empty() { "an error without a message".to_owned() } else { text };
        let is_own = text.starts_with(PEER);
        Self { text, is_own }
    }

    /// A single allocation of this many bytes failed.
    pub fn out_of_memory(bytes: usize) -> Self {
        let text = format!(
            "out of memory: could not allocate {bytes} bytes; reduce the batch or the model, or split batches with \
             train.accumulation"
        );
        Self { text, is_own: true }
    }

    /// A collective after this rank has left the others.
    pub fn left_the_ranks() -> Self {
        Self::new(LEFT)
    }

    /// The connection to another rank failed.
    pub(crate) fn of_peer(rank: usize, why: impl std::fmt::Display) -> Self {
        Self { text: format!("{PEER}{rank}: {why}"), is_own: true }
    }

    /// Whether it came from the connection to other ranks.
    pub fn is_of_peers(&self) -> bool {
        let marks = ["gloo/", "gloo::", "NCCL", "TCPStore", LEFT, PEER];
        marks.iter().any(|mark| self.text.contains(mark))
    }

    /// The message alone, without the word libtorch before it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

fn wanted_memory(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once(NO_MEMORY)?;
    rest.split(' ').next()?.parse().ok()
}

impl From<tch::TchError> for TorchError {
    fn from(error: tch::TchError) -> Self {
        match error {
            tch::TchError::Torch(message) => Self::new(&message),
            other => Self::new(&other.to_string()),
        }
    }
}

/// Converts the return value of a shim function to a `Result`, and frees it.
///
/// # Safety
/// `message` is null or came from a shim function and was not freed before.
pub(super) unsafe fn check(message: *mut c_char) -> Result<(), TorchError> {
    if message.is_null() {
        return Ok(());
    }
    // SAFETY: not null, and by the contract a zero-terminated string of the shim's.
    Err(TorchError::new(&unsafe { take_text(message) }))
}

/// Copies a string that the shim made, and frees it.
///
/// # Safety
/// `text` is not null, zero-terminated, came from a shim function and was not freed before.
pub(super) unsafe fn take_text(text: *mut c_char) -> String {
    // SAFETY: the caller promises a live zero-terminated string.
    let owned = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: the shim made it and nobody freed it before.
    unsafe { ffi::hrt_free_message(text) };
    owned
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Kind, Tensor};

    #[test]
    fn stack_lines_are_cut_off() {
        let error = TorchError::new("size mismatch\n\nException raised from x at y:1\nframe #0");
        assert_eq!(error.to_string(), "libtorch: size mismatch");
    }

    #[test]
    fn what_a_backward_pass_passes_on_is_prefixed_once() {
        let first = TorchError::new("Timed out");
        assert_eq!(TorchError::new(&first.to_string()), first);
    }

    #[test]
    fn memory_that_is_out_is_reported_with_what_to_do() {
        super::super::start();
        // More than a process can address, and fewer elements than libtorch can count.
        let wanted = Tensor::f_empty([1_i64 << 58], (Kind::Float, tch::Device::Cpu));
        let error = TorchError::from(wanted.unwrap_err()).to_string();
        assert!(
            error.starts_with("out of memory: could not allocate 1152921504606846976 bytes"),
            "{error}"
        );
        assert!(error.contains("train.accumulation"), "{error}");
    }

    #[test]
    fn a_real_error_is_one_short_line() {
        super::super::start();
        let left = Tensor::zeros([2, 3], (Kind::Float, tch::Device::Cpu));
        let error = TorchError::from(left.f_matmul(&left).unwrap_err());
        assert_eq!(error.text(), "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",);
    }
}

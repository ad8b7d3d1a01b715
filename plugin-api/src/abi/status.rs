//! The status of a call between host and plugin.

use abi_stable::StableAbi;

/// The status of a call. Any number but 0 is a failure; `set_error` and `last_error` have its message.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct HrStatus(pub i32);

impl HrStatus {
    /// Success.
    pub const OK: Self = Self(0);
    /// Failure, with a message.
    pub const ERROR: Self = Self(1);
    /// The plugin panicked; the panic was caught on its side.
    pub const PANIC: Self = Self(2);
    /// Not found: an absent tensor, an unknown key.
    pub const ABSENT: Self = Self(3);
}

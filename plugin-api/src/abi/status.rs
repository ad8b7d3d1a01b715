//! How a call across the boundary ended.

use abi_stable::StableAbi;

/// How a call ended. Any number but 0 is a failure; the text is with the host (`set_error`).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub struct HrStatus(pub i32);

impl HrStatus {
    /// It worked.
    pub const OK: Self = Self(0);
    /// It failed, with a message.
    pub const ERROR: Self = Self(1);
    /// The plugin panicked; the panic was caught on its side.
    pub const PANIC: Self = Self(2);
    /// Not found: an absent tensor, an unknown key.
    pub const ABSENT: Self = Self(3);
}

//! The header of every table: its size, and the version of the side that made it.

use abi_stable::StableAbi;

/// "HOOKRACK" read as a little-endian number.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HOOKRACK");
/// A plugin and a host of different major versions refuse each other.
pub const ABI_MAJOR: u16 = 1;
/// Incremented when points or extensions are added; either side may be older.
pub const ABI_MINOR: u16 = 2;

/// The table was made by the Rust macros.
pub const FLAG_RUST: u64 = 1;
/// The library was compiled with panic=abort: a panic in it would end the host.
pub const FLAG_PANIC_ABORT: u64 = 2;

/// The first field of every table.
#[repr(C)]
#[derive(Clone, Copy, Debug, StableAbi)]
pub struct HrHeader {
    /// [`MAGIC`].
    pub magic: u64,
    /// The size in bytes of the table this header begins.
    pub struct_size: u32,
    /// The major version it was built against.
    pub abi_major: u16,
    /// The minor version it was built against.
    pub abi_minor: u16,
    /// `FLAG_*` bits; unknown ones are ignored.
    pub flags: u64,
}

impl HrHeader {
    /// The header of a table of type `T`, made by this version.
    pub const fn of<T>(flags: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "no table comes near 4 GiB")]
        let struct_size = size_of::<T>() as u32;
        Self { magic: MAGIC, struct_size, abi_major: ABI_MAJOR, abi_minor: ABI_MINOR, flags }
    }
}

//! The checks on a table before the host relies on it: its header, its functions, the tables that it lists.
//!
//! A C plugin fills its tables by hand, so nothing in them is taken for granted: a table is read through a raw
//! pointer until its header and functions are known to be there, and becomes a reference only then.

use super::error::VersionMismatch;
use hookrack_plugin_api::abi::{
    ABI_MAJOR, ABI_MINOR, FLAG_PANIC_ABORT, HookBase, HrHeader, HrPlugin, MAGIC, MetricBase,
};
use std::ffi::c_void;
use std::mem::offset_of;

/// More than any library has; a larger count was never set.
const MOST_TABLES: usize = 4096;

/// Why a table cannot be relied on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TableError {
    #[error("its {table} is null: return the address of a table that lives as long as the process")]
    Null { table: String },
    #[error("its {table} is not aligned: return the address of a table, not of a packed copy")]
    Misaligned { table: String },
    #[error(
        "its {table} is not a hookrack table (magic {magic:#018x}): initialize its header with HR_HEADER"
    )]
    Magic { table: String, magic: u64 },
    /// It is of another major version.
    #[error(transparent)]
    Version(VersionMismatch),
    /// It is shorter than the first table of this major version was.
    #[error(
        "its {table} has {size} bytes, plugin-api {ABI_MAJOR} needs {need}: set struct_size to the table's sizeof"
    )]
    Short { table: String, size: u32, need: usize },
    #[error(
        "its {table} has no `{function}`: set it; a function that does nothing and returns 0 is enough"
    )]
    NoFunction { table: String, function: &'static str },
    #[error("it lists {count} {kind}s: set {kind}_count to the length of its list")]
    Count {
        /// "hook" or "metric".
        kind: &'static str,
        count: usize,
    },
}

/// Its panics cannot be caught.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "compiled with panic=abort: a panic in it would end the host; remove `panic = \"abort\"` from its profile and rebuild"
)]
pub struct FlagsError;

/// A table that a host relies on.
pub(super) trait Table: Sized + 'static {
    /// What it is called in messages.
    const KIND: &'static str;
    /// Its function pointers, which must not be null.
    const FUNCTIONS: &'static [(&'static str, usize)];
}

macro_rules! functions {
    ($table:ty: $($field:ident),*) => {
        &[$((stringify!($field), offset_of!($table, $field))),*]
    };
}

impl Table for HrPlugin {
    const KIND: &'static str = "library";
    const FUNCTIONS: &'static [(&'static str, usize)] = &[];
}

impl Table for HookBase {
    const KIND: &'static str = "hook";
    const FUNCTIONS: &'static [(&'static str, usize)] =
        functions!(HookBase: manifest, create, destroy, on_point, save_state, load_state);
}

impl Table for MetricBase {
    const KIND: &'static str = "metric";
    const FUNCTIONS: &'static [(&'static str, usize)] = functions!(
        MetricBase: manifest, create, destroy, update, compute, reset, save_state, load_state, merge
    );
}

/// The library's own table.
pub(super) fn plugin(root: *const HrPlugin) -> Result<&'static HrPlugin, TableError> {
    check(root, || "library table".to_owned())
}

/// A table of the host's own.
pub(super) fn built_in<T: Table>(table: &'static T) -> Result<&'static T, TableError> {
    check(table, || format!("{} table", T::KIND))
}

/// Refuses a library whose panics cannot be caught.
pub(super) fn check_flags(plugin: &HrPlugin) -> Result<(), FlagsError> {
    if plugin.header.flags & FLAG_PANIC_ABORT == 0 { Ok(()) } else { Err(FlagsError) }
}

/// The tables of a list that a library's table lends.
pub(super) fn listed<T: Table>(
    list: *const *const T,
    count: usize,
) -> Result<Vec<&'static T>, TableError> {
    let kind = T::KIND;
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > MOST_TABLES {
        return Err(TableError::Count { kind, count });
    }
    if list.is_null() {
        return Err(TableError::Null { table: format!("list of {kind}s") });
    }
    let entry = |i: usize| {
        // SAFETY: the library's table says that the list has `count` entries, and its header was checked.
        let table = unsafe { list.add(i).read_unaligned() };
        check(table, || format!("{kind} table {} of {count}", i + 1))
    };
    (0..count).map(entry).collect()
}

fn check<T: Table>(table: *const T, called: impl Fn() -> String) -> Result<&'static T, TableError> {
    if table.is_null() {
        return Err(TableError::Null { table: called() });
    }
    if !table.is_aligned() {
        return Err(TableError::Misaligned { table: called() });
    }
    // SAFETY: it is not null, it is aligned, and whatever a plugin hands out as a table begins with a header.
    let header = unsafe { table.cast::<HrHeader>().read() };
    check_header::<T>(&header, &called)?;
    for &(function, offset) in T::FUNCTIONS {
        // SAFETY: the header says that the table is at least as long as `T`.
        let address = unsafe { table.byte_add(offset).cast::<*const c_void>().read() };
        if address.is_null() {
            return Err(TableError::NoFunction { table: called(), function });
        }
    }
    // SAFETY: a table of this major version, whole, its functions there, and lent for the process.
    Ok(unsafe { &*table })
}

/// Checks a header as that of a library's own table, without what follows it.
///
/// # Errors
/// It is not one, or it is of another major version or of a shorter table.
pub fn check_library_header(header: &HrHeader) -> Result<(), TableError> {
    check_header::<HrPlugin>(header, &|| "library table".to_owned())
}

/// Tables do not change within a major version, so that `T` has the size that it had in its first release.
fn check_header<T>(header: &HrHeader, called: &impl Fn() -> String) -> Result<(), TableError> {
    if header.magic != MAGIC {
        return Err(TableError::Magic { table: called(), magic: header.magic });
    }
    if header.abi_major != ABI_MAJOR {
        return Err(TableError::Version(VersionMismatch {
            theirs: format!("{}.{}", header.abi_major, header.abi_minor),
            ours: format!("{ABI_MAJOR}.{ABI_MINOR}"),
            theirs_major: header.abi_major.into(),
            ours_major: ABI_MAJOR.into(),
        }));
    }
    let (size, need) = (header.struct_size, size_of::<T>());
    if (size as usize) < need {
        return Err(TableError::Short { table: called(), size, need });
    }
    Ok(())
}

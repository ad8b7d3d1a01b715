//! From a mapped library to its table: through abi_stable's envelope, or through the plain C symbol.

use super::dlopen::Opened;
use super::error::VersionMismatch;
use super::layout::{self, LayoutMismatch};
use super::text::one_line;
use abi_stable::library::{
    AbiHeader, AbiHeaderRef, LibHeader, LibraryError, ROOT_MODULE_LOADER_NAME, RootModule,
    RootModuleError,
};
use abi_stable::sabi_types::VersionNumber;
use hookrack_plugin_api::abi::{ENTRY_SYMBOL, HrPlugin, PluginRootRef};
use std::ptr::NonNull;

/// Why the table of a library cannot be found.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RootError {
    #[error(
        "exports neither `{ENTRY_SYMBOL}` nor a Rust root module: is it a hookrack plugin? \
         (in Rust use `export_plugin!`; docs/plugin-guide.md shows the C function)"
    )]
    NoSymbol,
    #[error("its root module has no valid header: rebuild it with `export_plugin!`")]
    Garbage,
    #[error(
        "its root module is of abi_stable {theirs}, this host has {ours}: rebuild it against plugin-api {api}"
    )]
    Envelope { theirs: String, ours: String, api: String },
    #[error(
        "its compiler's C calling convention is not this host's: rebuild it with this host's target"
    )]
    CallingConvention,
    #[error(
        "its plugin-api version `{version}` is not a version: rebuild it with `export_plugin!`"
    )]
    Version { version: String },
    /// It was built against another major version.
    #[error(transparent)]
    Mismatch(VersionMismatch),
    /// Its tables are not laid out as the host's are.
    #[error(transparent)]
    Layout(#[from] LayoutMismatch),
    /// Its constructor panicked; the panic was caught on its side.
    #[error(
        "its root module panicked while it was created: a bug in the plugin, rebuild it with `export_plugin!`"
    )]
    Panicked,
    #[error("its root module could not be created: {reason}")]
    Failed { reason: String },
}

/// The library's table, not yet checked.
pub(super) fn find(opened: &Opened) -> Result<*const HrPlugin, RootError> {
    if let Some(header) = envelope(opened)? {
        return of_rust(header);
    }
    // SAFETY: docs/abi.md declares the function of this name so.
    let entry = unsafe { opened.symbol::<unsafe extern "C" fn() -> *const HrPlugin>(ENTRY_SYMBOL) };
    match entry {
        // SAFETY: the function takes nothing and may be called on any thread.
        Some(entry) => Ok(unsafe { entry() }),
        None => Err(RootError::NoSymbol),
    }
}

/// What abi_stable's symbol names, if the library has it.
fn envelope(opened: &Opened) -> Result<Option<AbiHeaderRef>, RootError> {
    // SAFETY: any address will do for a pointer that is only looked at.
    match unsafe { opened.symbol::<NonNull<LibHeader>>(ROOT_MODULE_LOADER_NAME) } {
        None => Ok(None),
        Some(address) if !address.is_aligned() => Err(RootError::Garbage),
        // SAFETY: under this name a plugin exports the header itself, of which this is a reference; nothing in it
        // is believed before its magic is.
        Some(_) => Ok(unsafe { opened.symbol::<AbiHeaderRef>(ROOT_MODULE_LOADER_NAME) }),
    }
}

fn of_rust(header: AbiHeaderRef) -> Result<*const HrPlugin, RootError> {
    let header = upgrade(header)?;
    let theirs = version_of(header)?;
    let ours = host_version()?;
    if theirs.major != ours.major {
        return Err(RootError::Mismatch(VersionMismatch {
            theirs: theirs.to_string(),
            ours: ours.to_string(),
            theirs_major: theirs.major,
            ours_major: ours.major,
        }));
    }
    layout::check(header, theirs, ours)?;
    // SAFETY: the layout of the envelope and of all it leads to was just compared.
    let root =
        unsafe { header.unchecked_layout::<PluginRootRef>() }.map_err(|error| match error {
            RootModuleError::Unwound => RootError::Panicked,
            RootModuleError::Returned(error) => {
                RootError::Failed { reason: one_line(&error.to_string()) }
            }
        })?;
    Ok(root.plugin().0)
}

/// Checks that abi_stable itself is the same on both sides, and connects the two.
fn upgrade(header: AbiHeaderRef) -> Result<&'static LibHeader, RootError> {
    if header.magic_string != AbiHeader::VALUE.magic_string {
        return Err(RootError::Garbage);
    }
    if !header.is_valid() {
        let version = |header: &AbiHeader| format!("{}.{}", header.abi_major, header.abi_minor);
        let (theirs, ours) = (version(&header), version(&AbiHeader::VALUE));
        return Err(RootError::Envelope { theirs, ours, api: host_version()?.to_string() });
    }
    header.upgrade().map_err(|error: LibraryError| {
        tracing::debug!(%error, "the C calling convention differs");
        RootError::CallingConvention
    })
}

fn version_of(header: &LibHeader) -> Result<VersionNumber, RootError> {
    let strings = header.version_strings();
    VersionNumber::new(strings)
        .map_err(|_| RootError::Version { version: one_line(&strings.to_string()) })
}

fn host_version() -> Result<VersionNumber, RootError> {
    let strings = PluginRootRef::VERSION_STRINGS;
    VersionNumber::new(strings).map_err(|_| RootError::Version { version: strings.to_string() })
}

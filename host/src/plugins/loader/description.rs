//! The description of a library: from the library itself, or without mapping it from a probe or the index.

use super::error::Refusal;
use super::image::Image;
use super::manifest::{HookManifest, ManifestError, ManifestOwner, MetricManifest};
use super::table::Table;
use super::text::{lent, one_line};
use hookrack_plugin_api::abi::{ABI_MINOR, HookBase, HrHeader, HrPlugin, HrStr, MetricBase};
use hookrack_plugin_api::name::{is_name, is_number};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// A library's own description: what a probe reports and the index stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What built it.
    pub built_with: String,
    /// The major and minor version of the ABI that it was built against.
    pub abi: (u16, u16),
    /// Its hooks, in its own order.
    pub hooks: Vec<TypeInfo>,
    /// Its metrics, in its own order.
    pub metrics: Vec<TypeInfo>,
}

/// A hook or metric, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeInfo {
    /// The name in its table.
    pub name: String,
    /// The minor version of the ABI in its table.
    pub abi_minor: u16,
    /// Its manifest, JSON.
    pub manifest: String,
}

/// A library and what it offers, read from its info. It need not be mapped.
#[derive(Debug)]
pub struct Description {
    /// The file, as an absolute path without links.
    pub path: PathBuf,
    /// The sha256 of the file, in hex.
    pub sha256: String,
    /// What it says about itself.
    pub info: LibraryInfo,
    /// Its hooks, in its own order.
    pub hooks: Vec<Arc<HookManifest>>,
    /// Its metrics, in its own order.
    pub metrics: Vec<Arc<MetricManifest>>,
}

impl Description {
    /// Reads and checks every manifest.
    ///
    /// # Errors
    /// A manifest is invalid, or two types have the same name.
    pub fn new(image: &Image, info: LibraryInfo) -> Result<Self, Refusal> {
        let hooks = info.hooks.iter().map(|of| HookManifest::of_info(of).map(Arc::new));
        let metrics = info.metrics.iter().map(|of| MetricManifest::of_info(of).map(Arc::new));
        let (hooks, metrics) =
            (hooks.collect::<Result<Vec<_>, _>>()?, metrics.collect::<Result<Vec<_>, _>>()?);
        check_distinct("hook", hooks.iter().flat_map(|hook| hook.names()))?;
        check_distinct("metric", metrics.iter().flat_map(|metric| metric.names()))?;
        let (path, sha256) = (image.path.clone(), image.sha256.clone());
        Ok(Self { path, sha256, info, hooks, metrics })
    }

    /// The name of its file.
    pub fn file_name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }

    /// The version of the ABI that it was built against.
    pub fn abi(&self) -> String {
        format!("{}.{}", self.info.abi.0, self.info.abi.1)
    }
}

impl LibraryInfo {
    /// Asks a library whose tables were checked.
    pub(super) fn of(
        plugin: &HrPlugin,
        hooks: &[&'static HookBase],
        metrics: &[&'static MetricBase],
    ) -> Result<Self, ManifestError> {
        Ok(Self {
            name: label(plugin.name),
            version: label(plugin.version),
            built_with: label(plugin.built_with),
            abi: (plugin.header.abi_major, plugin.header.abi_minor),
            hooks: hooks.iter().map(|table| TypeInfo::of_hook(table)).collect::<Result<_, _>>()?,
            metrics: metrics
                .iter()
                .map(|table| TypeInfo::of_metric(table))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// What a table says about its type.
fn type_info<T: Table>(
    name: HrStr,
    header: HrHeader,
    manifest: unsafe extern "C" fn() -> HrStr,
) -> Result<TypeInfo, ManifestError> {
    let name = type_name(T::KIND, name)?.to_owned();
    // SAFETY: the function takes nothing, may be called on any thread, and lends its text for the process.
    let Some(text) = (unsafe { lent(manifest()) }) else {
        let owner = format!("{} `{name}`", T::KIND);
        return Err(ManifestError::NotText { owner });
    };
    Ok(TypeInfo { name, abi_minor: header.abi_minor, manifest: text.to_owned() })
}

impl TypeInfo {
    pub(super) fn of_hook(table: &'static HookBase) -> Result<Self, ManifestError> {
        type_info::<HookBase>(table.name, table.header, table.manifest)
    }

    pub(super) fn of_metric(table: &'static MetricBase) -> Result<Self, ManifestError> {
        type_info::<MetricBase>(table.name, table.header, table.manifest)
    }

    /// Whose manifest it is. One that is newer than the host may use words that the host does not know.
    fn owner(&self, kind: &'static str) -> ManifestOwner<'_> {
        ManifestOwner { kind, name: &self.name, newer: self.abi_minor > ABI_MINOR }
    }
}

macro_rules! manifest_of_info {
    ($manifest:ident, $table:ty) => {
        impl $manifest {
            pub(super) fn of_info(info: &TypeInfo) -> Result<Self, ManifestError> {
                let kind = <$table as Table>::KIND;
                let manifest = Self::parse(&info.manifest, &info.owner(kind))?;
                manifest.names().try_for_each(|name| check_name(kind, name))?;
                Ok(manifest)
            }

            /// Every `type` by which a config may name it.
            pub fn names(&self) -> impl Iterator<Item = &str> {
                std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
            }
        }
    };
}
manifest_of_info!(HookManifest, HookBase);
manifest_of_info!(MetricManifest, MetricBase);

/// A text about the library, for display. An invalid one does not prevent loading.
fn label(text: HrStr) -> String {
    // SAFETY: the texts of a library's table are lent for the process.
    one_line(unsafe { lent(text) }.unwrap_or_default())
}

/// The name of a hook or metric, by which a config finds it.
fn type_name(kind: &str, name: HrStr) -> Result<&'static str, ManifestError> {
    // SAFETY: the name of a table is lent for the process.
    match unsafe { lent(name) } {
        Some(name) if !name.is_empty() && !name.contains(char::is_control) => Ok(name),
        _ => Err(ManifestError::Unnamed { owner: format!("one of its {kind}s") }),
    }
}

/// An instance is named like its type where the config does not say otherwise, so both follow one rule.
fn check_name(kind: &str, name: &str) -> Result<(), ManifestError> {
    if is_name(name) && !is_number(name) {
        return Ok(());
    }
    Err(ManifestError::BadName { owner: format!("one of its {kind}s"), name: one_line(name) })
}

fn check_distinct<'a>(
    kind: &'static str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), ManifestError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            let owner = ManifestOwner { kind, name, newer: false }.to_string();
            return Err(ManifestError::Twice { owner });
        }
    }
    Ok(())
}

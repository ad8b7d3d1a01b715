//! A loaded library, and the hook and metric types that it, or the host itself, offers.

use super::error::{LoadError, Refusal};
use super::manifest::{HookManifest, ManifestError, MetricManifest, Subject};
use super::table;
use super::text::{lent, one_line};
use hookrack_plugin_api::abi::{ABI_MINOR, HookBase, HrHeader, HrPlugin, HrStr, MetricBase};
use hookrack_plugin_api::name::{is_name, is_number};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A loaded library. It stays loaded until the process ends.
#[derive(Debug)]
pub struct Library {
    /// The file, as an absolute path without links.
    pub path: PathBuf,
    /// The sha256 of the file, in hex.
    pub sha256: String,
    /// Its name, as it says.
    pub name: String,
    /// Its version, as it says.
    pub version: String,
    /// What built it, as it says.
    pub built_with: String,
    /// The major and minor version of the ABI that it was built against.
    pub abi: (u16, u16),
    /// Its hooks, in its own order.
    pub hooks: Vec<HookType>,
    /// Its metrics, in its own order.
    pub metrics: Vec<MetricType>,
}

/// Where a hook or metric type comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The host itself.
    BuiltIn,
    /// The library of this path.
    Library(Arc<Path>),
}

/// A kind of hook: what to call, and what it says about itself.
#[derive(Clone)]
pub struct HookType {
    /// What to call.
    pub table: &'static HookBase,
    /// What it says about itself.
    pub manifest: Arc<HookManifest>,
    /// Where it comes from.
    pub source: Source,
}

/// A kind of metric: what to call, and what it says about itself.
#[derive(Clone)]
pub struct MetricType {
    /// What to call.
    pub table: &'static MetricBase,
    /// What it says about itself.
    pub manifest: Arc<MetricManifest>,
    /// Where it comes from.
    pub source: Source,
}

impl Library {
    /// Reads a table whose header was checked, and all manifests that it leads to.
    pub(super) fn of_table(
        plugin: &'static HrPlugin,
        file: &Path,
        sha256: String,
    ) -> Result<Self, Refusal> {
        let source = Source::Library(file.into());
        let hooks = table::listed(plugin.hooks, plugin.hook_count)?;
        let metrics = table::listed(plugin.metrics, plugin.metric_count)?;
        let hooks = hooks.into_iter().map(|table| HookType::read(table, source.clone()));
        let metrics = metrics.into_iter().map(|table| MetricType::read(table, source.clone()));
        let library = Self {
            path: file.to_owned(),
            sha256,
            name: label(plugin.name),
            version: label(plugin.version),
            built_with: label(plugin.built_with),
            abi: (plugin.header.abi_major, plugin.header.abi_minor),
            hooks: hooks.collect::<Result<_, _>>()?,
            metrics: metrics.collect::<Result<_, _>>()?,
        };
        check_distinct("hook", library.hooks.iter().flat_map(HookType::names))?;
        check_distinct("metric", library.metrics.iter().flat_map(MetricType::names))?;
        Ok(library)
    }

    /// The name of its file.
    pub fn file_name(&self) -> std::borrow::Cow<'_, str> {
        self.path.file_name().unwrap_or_default().to_string_lossy()
    }
}

macro_rules! kind_of_table {
    ($ty:ident, $kind:literal, $table:ident, $manifest:ident) => {
        impl $ty {
            /// A type that the host itself offers, by way of the same checks as a library's.
            ///
            /// # Errors
            /// Its table or manifest is broken.
            pub fn built_in(table: &'static $table) -> Result<Self, LoadError> {
                table::built_in(table)
                    .map_err(Refusal::from)
                    .and_then(|table| Ok(Self::read(table, Source::BuiltIn)?))
                    .map_err(LoadError::of_built_in)
            }

            /// The `type` by which a config names it.
            pub fn name(&self) -> &str {
                &self.manifest.name
            }

            /// Every `type` by which a config may name it.
            pub fn names(&self) -> impl Iterator<Item = &str> {
                let aliases = self.manifest.aliases.iter().map(String::as_str);
                std::iter::once(self.name()).chain(aliases)
            }

            fn read(table: &'static $table, source: Source) -> Result<Self, ManifestError> {
                let name = type_name($kind, table.name)?;
                let subject = Subject { kind: $kind, name, newer: is_newer(&table.header) };
                // SAFETY: the function takes nothing, may be called on any thread, and lends its text for the
                // process.
                let text = unsafe { lent((table.manifest)()) }
                    .ok_or_else(|| ManifestError::NotText { subject: subject.to_string() })?;
                let manifest = Arc::new($manifest::parse(text, &subject)?);
                let of_type = Self { table, manifest, source };
                of_type.names().try_for_each(|name| check_name($kind, name))?;
                Ok(of_type)
            }
        }

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} ({})", self.name(), self.source)
            }
        }
    };
}
kind_of_table!(HookType, "hook", HookBase, HookManifest);
kind_of_table!(MetricType, "metric", MetricBase, MetricManifest);

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Library(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Whether a table was built against a newer minor version than the host has.
fn is_newer(header: &HrHeader) -> bool {
    header.abi_minor > ABI_MINOR
}

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
        _ => Err(ManifestError::Unnamed { subject: format!("a {kind} of it") }),
    }
}

/// An instance is named like its type where the config does not say otherwise, so both follow one rule.
fn check_name(kind: &str, name: &str) -> Result<(), ManifestError> {
    if is_name(name) && !is_number(name) {
        return Ok(());
    }
    Err(ManifestError::BadName { subject: format!("a {kind} of it"), name: one_line(name) })
}

fn check_distinct<'a>(
    kind: &'static str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), ManifestError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            let subject = Subject { kind, name, newer: false }.to_string();
            return Err(ManifestError::Twice { subject });
        }
    }
    Ok(())
}

//! A loaded library, and the hook and metric types that it, or the host itself, offers.

use super::description::{Description, LibraryInfo, TypeInfo};
use super::error::{LoadError, Refusal};
use super::image::Image;
use super::manifest::{HookManifest, MetricManifest};
use super::table;
use super::text::visible;
use hookrack_plugin_api::abi::{HookBase, HrPlugin, MetricBase};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A loaded library. It stays loaded until the process ends.
#[derive(Debug)]
pub struct Library {
    /// What it says about itself.
    pub about: Description,
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

impl Source {
    /// The file name of the library, or "built in".
    pub fn file_name(&self) -> String {
        match self {
            Self::BuiltIn => "built in".to_owned(),
            Self::Library(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                visible(&name.to_string_lossy()).into_owned()
            }
        }
    }
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
    pub(super) fn of_table(plugin: &'static HrPlugin, image: &Image) -> Result<Self, Refusal> {
        let hooks = table::listed(plugin.hooks, plugin.hook_count)?;
        let metrics = table::listed(plugin.metrics, plugin.metric_count)?;
        let about = Description::new(image, LibraryInfo::of(plugin, &hooks, &metrics)?)?;
        let source = Source::Library(image.path.as_path().into());
        let hooks = hooks.into_iter().zip(&about.hooks).map(|(table, manifest)| HookType {
            table,
            manifest: Arc::clone(manifest),
            source: source.clone(),
        });
        let metrics = metrics.into_iter().zip(&about.metrics).map(|(table, manifest)| MetricType {
            table,
            manifest: Arc::clone(manifest),
            source: source.clone(),
        });
        Ok(Self { hooks: hooks.collect(), metrics: metrics.collect(), about })
    }
}

macro_rules! kind_of_table {
    ($ty:ident, $table:ident, $manifest:ident, $info:ident) => {
        impl $ty {
            /// A type that the host itself offers, which passes the same checks as a library's.
            pub fn built_in(table: &'static $table) -> Result<Self, LoadError> {
                let checked = table::built_in(table).map_err(Refusal::from);
                let manifest = checked.and_then(|table| {
                    let info = TypeInfo::$info(table)?;
                    Ok(Arc::new($manifest::of_info(&info)?))
                });
                let manifest = manifest.map_err(LoadError::of_built_in)?;
                Ok(Self { table, manifest, source: Source::BuiltIn })
            }

            /// The `type` by which a config names it.
            pub fn name(&self) -> &str {
                &self.manifest.name
            }
        }

        impl fmt::Debug for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} ({})", self.name(), self.source)
            }
        }
    };
}
kind_of_table!(HookType, HookBase, HookManifest, of_hook);
kind_of_table!(MetricType, MetricBase, MetricManifest, of_metric);

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Library(path) => write!(f, "{}", path.display()),
        }
    }
}

//! The config system: from what the user wrote to what it means.
//!
//! [`ConfigFile`] is the file with its bases and overrides, every value with its place. The host reads
//! from it where plugins are, builds a [`Catalog`] of everything that can be named by `type =`, and
//! [`ConfigFile::resolve`] turns it into a [`ResolvedConfig`]: checked, complete, without relative
//! paths. After that nothing is defaulted.

mod cadence;
mod catalog;
mod check;
mod diagnose;
mod entries;
mod error;
mod explain;
mod file;
mod fixed;
mod inherit;
mod locate;
mod merge;
mod origin;
mod overrides;
mod parse;
mod read;
pub mod reference;
mod render;
mod resolve;
mod resolved;
mod scalars;
pub mod schema;
mod sections;
#[cfg(test)]
mod tests;
mod tree;
mod write;

pub use cadence::{CadenceFault, Every, Phases};
pub use catalog::{
    Catalog, CatalogEntry, CatalogError, Companion, DefaultHook, HookFacts, Kind, MetricHook,
    Source,
};
pub use entries::{MemberEntry, OnSlow, TimeLimit};
pub use error::{ConfigError, ConfigErrors};
pub use explain::SettingOrigin;
pub use file::{ConfigFile, PluginFolders, PluginTrust};
pub use origin::{Document, Origin};
pub use overrides::OverrideFault;
pub use resolved::{DataSection, DataSplit, ResolvedConfig};
pub use scalars::{LOSS_SCALING, NotLogged, Scalars};
pub use sections::{
    Device, DistributedSection, ExecutionMode, Filled, FolderPolicy, FormatChoice, GroupEntry,
    Kernels, Loading, ParallelSection, ParamGroups, PluginsSection, Precision, RenameEntry,
    RunSection, TrainSection, TrustPolicy, WeightsSection,
};

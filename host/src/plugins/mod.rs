//! Hooks and metrics from shared libraries: found, verified, loaded, and kept on a shelf by name.

#![expect(
    unsafe_code,
    reason = "this folder is the host's side of the boundary; every block says why it is sound"
)]

pub mod loader;

pub use loader::{
    Better, HookManifest, HookType, Library, LoadError, MetricManifest, MetricType, OnError, Shelf,
    Source, open,
};

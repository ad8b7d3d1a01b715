//! Tests of the config system as a whole.

mod catalog;
mod fixtures;
mod hostile;
mod round_trip;
mod schema;
mod sections;

use std::path::PathBuf;
use std::sync::Arc;

use super::origin::{Document, DocumentKind};
use super::parse::parse_document;
use super::tree::Node;

pub(in crate::config) use catalog::param;

/// A catalogue of built-in things.
pub(in crate::config) fn sample_catalog() -> super::Catalog {
    catalog::catalog(&[])
}

/// The tree of a text.
pub(in crate::config) fn tree_of(text: &str) -> Node {
    let document = Arc::new(Document {
        shown: "test.toml".into(),
        text: text.into(),
        dir: PathBuf::from("/"),
        order: 0,
        kind: DocumentKind::File,
    });
    parse_document(&document).unwrap()
}

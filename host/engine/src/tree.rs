//! A settings tree inside settings: taken as written, and checked by the component that uses it.

use hookrack_plugin_api::Value;
use serde::Deserialize;
use serde::de::Deserializer;

/// Any settings, kept as a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree(pub Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self)
    }
}

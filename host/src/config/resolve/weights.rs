//! `[weights]`, or `train.load_from` for short: values that training starts from.

use std::path::PathBuf;

use super::Resolver;
use crate::config::check::Scope;
use crate::config::fixed;
use crate::config::resolved::{RenameEntry, WeightsSection};
use crate::config::tree::{Node, Table};

impl Resolver<'_> {
    /// The section, if there is one; nothing at all where it is wrong.
    #[expect(clippy::option_option, reason = "absent is fine, wrong is not")]
    pub(super) fn weights(&mut self) -> Option<Option<WeightsSection>> {
        if self.file.root.node("weights").is_none() {
            return Some(None);
        }
        let section = self.section("weights")?;
        let (params, scope) = (fixed::weights_params(), Scope::section("weights"));
        let table = self.checker.table(section.table, section.at, &params, &scope);
        let weights = typed(&table)?;
        self.tree.push_node("weights", Node::table(table, section.at.clone()));
        Some(Some(weights))
    }
}

impl WeightsSection {
    /// What `train.load_from` is short for: all of the weights of a file, as they are.
    pub(super) fn all_of(path: PathBuf) -> Self {
        Self { key: "train.load_from", path, strict: true, rename: Vec::new(), ignore: Vec::new() }
    }
}

fn typed(table: &Table) -> Option<WeightsSection> {
    let rename = |table: &Table| {
        Some(RenameEntry {
            from: table.str("from")?.to_owned(),
            to: table.str("to")?.to_owned(),
            transpose: table.bool("transpose")?,
        })
    };
    Some(WeightsSection {
        key: "weights.path",
        path: table.str("path")?.into(),
        strict: table.bool("strict")?,
        rename: table.tables("rename").map(rename).collect::<Option<_>>()?,
        ignore: table.strings("ignore"),
    })
}

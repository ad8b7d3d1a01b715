//! `[train]`: how long and how to train.

use super::Resolver;
use crate::config::error::Fault;
use crate::config::origin::Origin;
use crate::config::sections::{Device, TrainSection};
use crate::config::tree::{Entry, Item, Node, Table};

impl Resolver<'_> {
    pub(super) fn train(&mut self) -> Option<TrainSection> {
        let section = self.section("train")?;
        let mut table = self.fixed("train", &section);
        self.some_limit(section.table, section.at);
        self.one_source_of_weights(section.table);
        self.known_device(&table);
        fill_threads(&mut table);
        let train = self.read("train", &table, section.at);
        self.tree.push_node("train", Node::table(table, section.at.clone()));
        train
    }

    fn some_limit(&mut self, written: &Table, at: &Origin) {
        if ["max_epochs", "max_iters"].iter().all(|key| written.entry(key).is_none()) {
            self.checker.errors.add(at, Fault::NoLimit);
        }
    }

    fn known_device(&mut self, table: &Table) {
        let Some(node) = table.node("device") else { return };
        if node.as_str().is_some_and(|name| Device::from_name(name).is_none()) {
            self.checker.errors.add(
                &node.origin,
                Fault::Refused {
                    key: "train.device".into(),
                    why: "no device has this name".into(),
                    help: "write \"cpu\", \"cuda\", or \"cuda:1\" for the second of several".into(),
                },
            );
        }
    }

    fn one_source_of_weights(&mut self, written: &Table) {
        let load_from = written.entry("load_from").map(|entry| entry.key_origin.clone());
        let weights = self.file.root.entry("weights").map(|entry| entry.key_origin.clone());
        if let (Some(load_from), Some(weights)) = (load_from, weights) {
            self.checker.errors.add(&load_from, Fault::TwoWeights { weights });
        }
    }
}

/// The only default that depends on the machine. It is part of the resolved config, because the
/// last bits of a sum depend on it.
fn fill_threads(table: &mut Table) {
    if table.node("threads").is_some() {
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let item = Item::Int(i64::try_from(cores).unwrap_or(1));
    let node = Node { item, origin: Origin::Default };
    table.entries.push(Entry { key: "threads".into(), key_origin: Origin::Default, node });
}

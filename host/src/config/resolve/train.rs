//! `[train]`: how long and how to train.

use std::path::PathBuf;

use hookrack_plugin_api::from_value;

use super::Resolver;
use crate::config::check::Scope;
use crate::config::error::ConfigError;
use crate::config::fixed;
use crate::config::origin::Origin;
use crate::config::resolved::{Limit, Mode, Precision, TrainSection};
use crate::config::tree::{Entry, Item, Node, Table};
use crate::engine::device;

impl Resolver<'_> {
    pub(super) fn train(&mut self) -> Option<TrainSection> {
        let section = self.section("train")?;
        let scope = Scope::section("train");
        let mut table =
            self.checker.table(section.table, section.at, &fixed::train_params(), &scope);
        self.some_limit(section.table, section.at);
        self.one_source_of_weights(section.table);
        self.known_device(&table);
        fill_threads(&mut table);
        let train = typed(&table);
        self.tree.push_node("train", Node::table(table, section.at.clone()));
        train
    }

    fn some_limit(&mut self, written: &Table, at: &Origin) {
        if ["max_epochs", "max_iters"].iter().all(|key| written.entry(key).is_none()) {
            self.checker.errors.push(ConfigError::NoLimit { at: at.clone() });
        }
    }

    fn known_device(&mut self, table: &Table) {
        let Some(node) = table.node("device") else { return };
        if node.as_str().is_some_and(|name| device::named(name).is_none()) {
            self.checker.errors.push(ConfigError::Refused {
                at: node.origin.clone(),
                key: "train.device".into(),
                why: "no device has this name".into(),
                help: "write \"cpu\", \"cuda\", or \"cuda:1\" for the second of several".into(),
            });
        }
    }

    fn one_source_of_weights(&mut self, written: &Table) {
        let load_from = written.entry("load_from").map(|entry| entry.key_origin.clone());
        let weights = self.file.root.entry("weights").map(|entry| entry.key_origin.clone());
        if let (Some(load_from), Some(weights)) = (load_from, weights) {
            self.checker.errors.push(ConfigError::TwoWeights { load_from, weights });
        }
    }
}

/// The only default that is read off the machine. It is part of the resolved config, because the
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

fn typed(table: &Table) -> Option<TrainSection> {
    let whole = |key| table.int(key).and_then(|value| u64::try_from(value).ok());
    let count = |key| table.int(key).and_then(|value| usize::try_from(value).ok());
    Some(TrainSection {
        limit: match (whole("max_epochs"), whole("max_iters")) {
            (Some(epochs), None) => Limit::Epochs(epochs),
            (None, Some(iters)) => Limit::Iters(iters),
            (Some(epochs), Some(iters)) => Limit::Either { epochs, iters },
            (None, None) => return None,
        },
        batch_size: count("batch_size")?,
        seed: whole("seed")?,
        device: device::named(table.str("device")?)?,
        precision: match table.str("precision")? {
            "bf16" => Precision::Bf16,
            "fp16" => Precision::Fp16,
            _ => Precision::Fp32,
        },
        loss_scaler: from_value(table.node("loss_scaler")?.to_value()).ok()?,
        mode: if table.str("mode")? == "graph" { Mode::Graph } else { Mode::Eager },
        accumulate_grad_batches: whole("accumulate_grad_batches")?,
        accumulation: count("accumulation")?,
        clip_grad_norm: table.float("clip_grad_norm")?,
        clip_grad_norm_type: table.float("clip_grad_norm_type")?,
        clip_grad_value: table.float("clip_grad_value")?,
        freeze: table.strings("freeze"),
        load_from: table.str("load_from").map(PathBuf::from),
        max_time: table.float("max_time")?,
        threads: count("threads")?,
    })
}

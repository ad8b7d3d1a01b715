//! `[data.train]` and its siblings: a data set each, and how it is loaded.

use super::Resolver;
use crate::config::catalog::Kind;
use crate::config::check::{Scope, brief};
use crate::config::error::Fault;
use crate::config::fixed;
use crate::config::origin::Origin;
use crate::config::resolved::{DataSection, DataSplit};
use crate::config::tree::{Entry, Item, Node, Table};
use hookrack_plugin_api::Choice;
use hookrack_plugin_api::name;

impl Resolver<'_> {
    /// Must be resolved after `[train]`, whose batch size is the default here.
    pub(super) fn data(&mut self) -> Option<DataSection> {
        let section = self.section("data")?;
        let known: Vec<_> = fixed::SPLITS.into_iter().chain([fixed::TESTS]).collect();
        self.checker.unknown_keys(section.table, &known, &Scope::section("data"));
        let mut tree = Table::default();
        let mut splits = fixed::SPLITS.map(|key| {
            let path = format!("data.{key}");
            section.table.node(key).map(|node| self.split(&path, key, node, &mut tree))
        });
        let tests = section.table.node(fixed::TESTS);
        let tests = tests.map_or_else(Vec::new, |node| self.named_tests(node, &mut tree));
        if splits[0].is_none() {
            let missing = Fault::MissingSection { section: "data.train".into() };
            self.checker.errors.add(section.at, missing);
        }
        self.tree.push_node("data", Node::table(tree, section.at.clone()));
        let [train, val, test, pred] = std::mem::take(&mut splits);
        Some(DataSection {
            train: train.flatten()?,
            val: val.flatten(),
            test: test.flatten(),
            tests,
            pred: pred.flatten(),
        })
    }

    /// `[data.tests.NAME]`: names become parts of scalars' names.
    fn named_tests(&mut self, node: &Node, tree: &mut Table) -> Vec<(String, DataSplit)> {
        let Some(table) = node.as_table() else {
            self.checker.wrong_type(node, "data.tests", "a table of data sets".into());
            return Vec::new();
        };
        let mut sets = Vec::new();
        let mut named = Table::default();
        for entry in &table.entries {
            if !name::is_name(&entry.key) {
                let name = brief(&entry.key);
                self.checker.errors.add(&entry.key_origin, Fault::BadName { name });
            }
            let path = format!("data.tests.{}", entry.key);
            let split = self.split(&path, &entry.key, &entry.node, &mut named);
            sets.extend(split.map(|split| (entry.key.clone(), split)));
        }
        tree.push_node(fixed::TESTS, Node::table(named, node.origin.clone()));
        sets
    }

    fn split(&mut self, path: &str, key: &str, node: &Node, tree: &mut Table) -> Option<DataSplit> {
        let scope = Scope::section(path);
        let mut typed = self.typed(node, Kind::Dataset, &scope, None)?;
        self.complete(path, &mut typed.reserved);
        let transforms = self.transforms(&scope, &mut typed.reserved)?;
        let mut keys = typed.reserved.clone();
        keys.entries.retain(|entry| entry.key != fixed::TRANSFORMS);
        let split = DataSplit {
            component: typed.choice(),
            loading: self.read(path, &keys, &node.origin)?,
            transforms,
        };
        tree.push_node(key, Node::table(typed.into_table(), node.origin.clone()));
        Some(split)
    }

    /// The chain of transforms; each is checked, and its defaults are filled in.
    fn transforms(&mut self, scope: &Scope, reserved: &mut Table) -> Option<Vec<Choice>> {
        let entry = reserved.entries.iter_mut().find(|entry| entry.key == fixed::TRANSFORMS)?;
        let Item::List(nodes) = &mut entry.node.item else { return None };
        let checked: Vec<_> = nodes
            .iter_mut()
            .enumerate()
            .map(|(number, node)| {
                let path = scope.key(&format!("{}.{number}", fixed::TRANSFORMS));
                let scope = Scope { shown: format!("`{path}`"), path };
                let typed = self.typed(node, Kind::Transform, &scope, None)?;
                let component = typed.choice();
                node.item = Item::Table(typed.into_table());
                Some(component)
            })
            .collect();
        checked.into_iter().collect()
    }

    /// The two defaults that depend on something else.
    fn complete(&self, path: &str, reserved: &mut Table) {
        let train = self.tree.node("train").and_then(Node::as_table);
        if reserved.node("batch_size").is_none() {
            let size = train.and_then(|train| train.node("batch_size")).cloned();
            reserved.entries.splice(0..0, size.map(|node| entry("batch_size", node)));
        }
        if reserved.node("shuffle").is_none() {
            let shuffle = Node { item: Item::Bool(path == "data.train"), origin: Origin::Default };
            let at = reserved.entries.len().min(1);
            reserved.entries.insert(at, entry("shuffle", shuffle));
        }
    }
}

fn entry(key: &str, node: Node) -> Entry {
    Entry { key: key.to_owned(), key_origin: node.origin.clone(), node }
}

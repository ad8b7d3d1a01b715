//! Resolves a config: checks a whole file against the catalogue and fills in defaults.
//!
//! Every part reports its own mistakes and continues, so that one run shows them all.

mod component;
mod data;
mod entry;
mod hooks;
mod metric_hooks;
mod metrics;
mod monitors;
mod optimizer;
mod policy;
mod train;
mod weights;

use super::catalog::Catalog;
use super::check::{Checker, Scope};
use super::error::{ConfigErrors, Fault};
use super::file::ConfigFile;
use super::fixed;
use super::locate::Folders;
use super::origin::Origin;
use super::resolved::ResolvedConfig;
use super::sections::{PluginsSection, RunSection, WeightsSection};
use super::tree::{Node, Table};
use hookrack_plugin_api::from_value;
use hookrack_plugin_api::name::nearest;
use hookrack_plugin_api::name::{is_name, is_name_char};
use serde::de::DeserializeOwned;

/// Resolves a file against a catalogue.
pub(super) fn resolve(
    file: &ConfigFile,
    catalog: &Catalog,
) -> Result<ResolvedConfig, ConfigErrors> {
    let mut checker = Checker::new(&file.current);
    let folders = file.checked_folders(&mut checker);
    let (tree, ignored) = (Table::default(), None);
    let mut resolver = Resolver { file, catalog, checker, folders, tree, ignored };
    resolver.top_level_keys();
    let config = resolver.everything();
    resolver.checker.errors.or(config)
}

struct Resolver<'a> {
    file: &'a ConfigFile,
    catalog: &'a Catalog,
    checker: Checker<'a>,
    /// The plugin folders.
    folders: Folders,
    /// The resolved tree, section by section.
    tree: Table,
    /// The label that the loss ignores; known once the loss is resolved.
    ignored: Option<i64>,
}

/// A section of the file that is a table; an empty one if it is absent.
struct Section<'a> {
    table: &'a Table,
    at: &'a Origin,
}

static EMPTY: Table = Table { entries: Vec::new(), delete: None };

impl<'a> Resolver<'a> {
    fn top_level_keys(&mut self) {
        for entry in &self.file.root.entries {
            let known = fixed::TOP_LEVEL.contains(&entry.key.as_str());
            if !known && !self.checker.errors.is_full() {
                let (key, nearest) = (entry.key.clone(), nearest(&entry.key, fixed::TOP_LEVEL));
                let unknown = Fault::UnknownSection { key, nearest };
                self.checker.errors.add(&entry.key_origin, unknown);
            }
        }
    }

    /// Each part is resolved before any `?`, so that all of them report.
    fn everything(&mut self) -> Option<ResolvedConfig> {
        let run = self.run();
        let model = self.component(&fixed::MODEL);
        let loss = self.file.root.node("loss").map(|_| self.component(&fixed::LOSS));
        let settings = loss.as_ref().and_then(|loss| Some(&loss.as_ref()?.settings));
        self.ignored = settings.and_then(entry::ignored_label);
        let weights = self.weights();
        let optimizer = self.optimizer();
        let lr_scheduler = self.component(&fixed::LR_SCHEDULER);
        let schedule = self.schedule();
        let train = self.train();
        let distributed = self.plain("distributed");
        let parallel = self.plain("parallel");
        let data = self.data();
        let plugins = self.plugins();
        let hooks = self.hooks();
        let metrics = self.metrics();
        self.unique_names(&hooks, &metrics);
        self.unique_scalars(&hooks, &metrics);
        let scalars = self.scalars(&hooks, &metrics, train.as_ref());
        self.monitors(&scalars);
        let computes_loss = self.computes_loss(&hooks);
        let mut tree = std::mem::take(&mut self.tree);
        tree.entries.sort_by_key(|entry| fixed::TOP_LEVEL.iter().position(|key| entry.key == *key));
        let (optimizer, param_groups) = optimizer?;
        let train = train?;
        let load_from = train.load_from.clone().map(WeightsSection::all_of);
        Some(ResolvedConfig {
            run: run?,
            model: model?,
            weights: weights?.or(load_from),
            data: data?,
            loss: loss.map_or(Some(None), |loss| loss.map(Some))?,
            optimizer,
            param_groups,
            lr_scheduler: lr_scheduler?,
            schedule: schedule?,
            train,
            distributed: distributed?,
            parallel: parallel?,
            plugins: plugins?,
            hooks,
            metrics,
            scalars,
            computes_loss,
            tree,
        })
    }

    fn section(&mut self, key: &str) -> Option<Section<'a>> {
        let file = self.file;
        let Some(node) = file.root.node(key) else {
            return Some(Section { table: &EMPTY, at: &file.origin });
        };
        let section = node.as_table().map(|table| Section { table, at: &node.origin });
        if section.is_none() {
            self.checker.wrong_type(node, key, "a table".into());
        }
        section
    }

    /// The entries of a list of tables such as `[[metrics]]`.
    fn list_of_tables(&mut self, key: &str) -> &'a [Node] {
        let file = self.file;
        let Some(node) = file.root.node(key) else { return &[] };
        let entries = node.as_list();
        if entries.is_none() {
            self.checker.wrong_type(node, key, "a list of tables".into());
        }
        entries.unwrap_or_default()
    }

    /// A fixed section, checked and with its defaults.
    fn fixed(&mut self, key: &str, section: &Section<'_>) -> Table {
        let params = fixed::section_params(key).unwrap_or_default();
        self.checker.table(section.table, section.at, &params, &Scope::section(key))
    }

    /// The struct of a checked section. What the description allows and the struct rejects is an error at
    /// the section.
    fn read<T: DeserializeOwned>(&mut self, key: &str, table: &Table, at: &Origin) -> Option<T> {
        match from_value(table.to_value()) {
            Ok(section) => Some(section),
            // A missing key has already been reported.
            Err(_) if !self.checker.errors.is_empty() => None,
            Err(why) => {
                self.checker.errors.add(at, Fault::unreadable_section(key, &why));
                None
            }
        }
    }

    fn run(&mut self) -> Option<RunSection> {
        let section = self.section("run")?;
        let mut table = self.fixed("run", &section);
        match table.node("name") {
            Some(node) => self.run_name(node),
            None => table.entries.insert(0, default_name(&self.file.stem)),
        }
        let run = self.read("run", &table, section.at);
        self.tree.push("run", section.at.clone(), Node::table(table, section.at.clone()));
        run
    }

    /// A fixed section without anything of its own to check.
    fn plain<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let section = self.section(key)?;
        let table = self.fixed(key, &section);
        let read = self.read(key, &table, section.at);
        self.tree.push_node(key, Node::table(table, section.at.clone()));
        read
    }

    fn run_name(&mut self, node: &Node) {
        if let Some(name) = node.as_str().filter(|name| !is_name(name)) {
            self.checker.errors.add(&node.origin, Fault::BadName { name: name.to_owned() });
        }
    }

    fn plugins(&mut self) -> Option<PluginsSection> {
        let mut table = self.folders.section();
        for key in ["dirs", "search"] {
            let origin = self.folders_origin(key);
            if let Some(entry) = table.entries.iter_mut().find(|entry| entry.key == key) {
                entry.node.origin = origin;
            }
        }
        let section = self.read("plugins", &table, &self.folders_origin("dirs"));
        self.tree.push_node("plugins", Node::table(table, Origin::Default));
        section
    }

    fn folders_origin(&self, key: &str) -> Origin {
        let plugins = self.file.root.node("plugins").and_then(Node::as_table);
        plugins
            .and_then(|table| table.node(key))
            .map_or(Origin::Default, |node| node.origin.clone())
    }
}

fn default_name(stem: &str) -> super::tree::Entry {
    let name: String = stem.chars().map(|c| if is_name_char(c) { c } else { '_' }).collect();
    let name = if is_name(&name) { name } else { "run".into() };
    let node = Node::str(name, Origin::Default);
    super::tree::Entry { key: "name".into(), key_origin: Origin::Default, node }
}

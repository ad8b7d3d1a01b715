//! Looks a name of the table up where a user's would be looked up.

use super::page::{Here, Row, RowKind};
use crate::workbench::Bench;
use crate::workshop::repository;
use hookrack::config::{CatalogEntry, Kind};
use hookrack::inventory::Inventory;
use hookrack_plugin_api::Point;
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// Every kind that a config names by `type`.
const KINDS: [Kind; 10] = [
    Kind::Model,
    Kind::Layer,
    Kind::Loss,
    Kind::Optimizer,
    Kind::LrScheduler,
    Kind::Dataset,
    Kind::Transform,
    Kind::Schedule,
    Kind::Hook,
    Kind::Metric,
];

/// What can be named.
pub(super) struct Names {
    inventory: Inventory,
    schema: Json,
    /// The sources of plugin-api's handle.
    api: String,
    bench: Bench,
}

impl Names {
    /// The names of this build, with the bundled plugins.
    pub(super) fn of_this_build() -> Self {
        let bench = Bench::bare();
        fs::create_dir(bench.path("bundled")).unwrap();
        bench.add_bundled("bundled");
        bench.write("plugins.toml", "[plugins]\ndirs = [\"bundled\"]\n");
        let schema = bench.run(["config", "--schema", "plugins.toml"]);
        let schema = serde_json::from_str(&schema.expect(0).stdout).unwrap();
        let inventory = Inventory::take(&[bench.path("bundled")]).unwrap();
        let mut api = String::new();
        read_all(&repository().join("plugin-api/src"), &mut api);
        Self { inventory, schema, api, bench }
    }

    /// What is wrong with a row.
    pub(super) fn faults(&self, row: &Row) -> Vec<String> {
        let mut faults = Vec::new();
        let mut insist = |holds: bool, why: String| {
            if !holds {
                faults.push(why);
            }
        };
        match &row.here {
            Here::Same => {
                insist(self.is_known(row.subject, &row.name), "is not a name here".into());
            }
            Here::Named(names) => {
                for name in names {
                    let is_here = match row.subject {
                        RowKind::Other => self.is_key(name) || self.is_type(name),
                        subject => self.is_known(subject, name),
                    };
                    insist(is_here, format!("`{name}` is not a name here"));
                    insist(
                        *name != row.name || row.subject == RowKind::Other,
                        "is the same name".into(),
                    );
                }
            }
            Here::Api(calls) => {
                for call in calls {
                    let is_there = ["(", "<"].map(|next| format!("pub fn {call}{next}"));
                    let is_there = is_there.iter().any(|text| self.api.contains(text));
                    insist(is_there, format!("plugin-api has no `{call}`"));
                }
            }
            Here::Command(command, option) => {
                let help = self.bench.run([command, "--help"]);
                let is_there = help.code == Some(0) && help.stdout.contains(option);
                insist(is_there, format!("`hookrack {command}` has no `{option}`"));
            }
            Here::Always => insist(!row.note.is_empty(), "says nothing".into()),
            Here::Missing => {
                insist(!row.note.is_empty(), "gives no reason".into());
                insist(!self.is_known(row.subject, &row.name), "is here: say so".into());
            }
        }
        for (name, ours) in &row.params {
            let is_there = ours.as_ref().is_none_or(|ours| self.is_param(row, ours));
            insist(is_there, format!("`{name}` is not a parameter here"));
        }
        faults
    }

    fn is_known(&self, subject: RowKind, name: &str) -> bool {
        let catalog = &self.inventory.catalog;
        let of = |kind| catalog.of(kind).any(|entry| entry.answers_to(name));
        match subject {
            RowKind::Point => Point::from_name(name).is_some(),
            RowKind::Hook => {
                of(Kind::Hook) || catalog.metric_hooks().iter().any(|it| it.name == name)
            }
            RowKind::Metric => of(Kind::Metric),
            RowKind::Scheduler => of(Kind::LrScheduler),
            RowKind::Other => false,
        }
    }

    fn is_type(&self, name: &str) -> bool {
        KINDS.into_iter().any(|kind| self.inventory.catalog.of(kind).any(|it| it.answers_to(name)))
    }

    fn is_param(&self, row: &Row, key: &str) -> bool {
        if key.contains('.') {
            return self.is_key(key);
        }
        let kind = match row.subject {
            RowKind::Hook => Kind::Hook,
            RowKind::Metric => Kind::Metric,
            RowKind::Scheduler => Kind::LrScheduler,
            RowKind::Point | RowKind::Other => return false,
        };
        let of = match &row.here {
            Here::Named(names) => &names[0],
            _ => &row.name,
        };
        let catalog = &self.inventory.catalog;
        let mut entries = catalog.of(kind).filter(|entry| entry.answers_to(of));
        let stands_in = || catalog.metric_hooks().iter().any(|it| it.name == *of && it.key == key);
        // What every entry has is none of the type's own.
        let shared = ["level", "name", "every", "phase", "on_error"].contains(&key);
        let own = |param: &hookrack_plugin_api::Param| param.keys().any(|known| known == key);
        // A hook with a cadence takes `interval` beside `every`.
        let cadence = |entry: &CatalogEntry| key == "interval" && entry.has_cadence();
        entries.any(|entry| shared || cadence(entry) || entry.params.iter().any(own)) || stands_in()
    }

    /// Whether a dotted key is one of the config: of a fixed section, or of any type of a section.
    fn is_key(&self, key: &str) -> bool {
        let parts: Vec<_> = key.split('.').collect();
        has(&self.schema, &self.schema, &parts)
    }
}

fn has(schema: &Json, node: &Json, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let node = match node["$ref"].as_str() {
        Some(to) => schema.pointer(to.trim_start_matches('#')).unwrap(),
        None => node,
    };
    let below = &node["properties"][*first];
    let others = ["anyOf", "oneOf"].into_iter().filter_map(|any| node[any].as_array()).flatten();
    (!below.is_null() && has(schema, below, rest))
        || others.into_iter().any(|other| has(schema, other, path))
        || (!node["items"].is_null() && has(schema, &node["items"], path))
        || (node["additionalProperties"].is_object()
            && has(schema, &node["additionalProperties"], rest))
}

fn read_all(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, out);
        } else {
            out.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

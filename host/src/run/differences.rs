//! What differs between the run that wrote a checkpoint and the one that resumes from it.

use super::checkpoint::Provenance;
use super::data_files;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What: a key of the config, a data file, a library.
    pub what: String,
    /// The value in the checkpoint; empty if it has none.
    pub before: String,
    /// The value now; empty if there is none.
    pub now: String,
    /// Why the run cannot be resumed; empty if it can.
    pub refused: &'static str,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word =
            |text: &str| if text.is_empty() { "nothing".to_owned() } else { text.to_owned() };
        write!(out, "{}: {} was {}", self.what, word(&self.now), word(&self.before))?;
        if self.refused.is_empty() { Ok(()) } else { write!(out, " ({})", self.refused) }
    }
}

/// Why other data, or other batches of it, are refused.
const POSITION: &str = "the position in the training data would be wrong";

/// Sections whose changes make the checkpoint's position or tensors meaningless.
const REFUSED: [(&str, &str); 6] = [
    ("data.train", POSITION),
    ("train.batch_size", POSITION),
    ("train.accumulate_grad_batches", "the number of batches per iteration differs"),
    ("train.seed", "the order of the samples differs"),
    ("model", "the weights belong to another model"),
    ("optimizer.type", "the state belongs to another optimizer"),
];

/// Keys of these sections that may change: they affect only the speed, or which labels count.
const HARMLESS: [&str; 3] =
    ["data.train.workers", "data.train.prefetch", "data.train.ignore_index"];

/// The value of a key in configs resolved before it existed.
const ABSENT: [(&str, &str); 1] = [("train.accumulate_grad_batches", "1")];

/// Sections with paths only, which are not compared.
const UNTOLD: [&str; 2] = ["run", "plugins"];

fn is_within(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// All differences.
pub fn differences(before: &Provenance, now: &Provenance) -> Vec<Difference> {
    let mut all = of_config(&before.config, &now.config);
    let files = data_files::changed(&before.data, &now.data).into_iter();
    all.extend(
        files.filter_map(|(p, before, now)| difference(&format!("data file {p}"), &before, &now)),
    );
    all.extend(of_samples(before.samples, now.samples));
    all.extend(of_libraries(&before.libraries, &now.libraries));
    for (what, before, now) in [
        ("hookrack", &before.hookrack, &now.hookrack),
        ("libtorch", &before.libtorch, &now.libtorch),
    ] {
        all.extend(difference(what, before, now));
    }
    all
}

fn difference(what: &str, before: &str, now: &str) -> Option<Difference> {
    let differs = before != now;
    let is_refused = |section: &str| is_within(what, section) && !HARMLESS.contains(&what);
    let refused =
        REFUSED.iter().find(|(section, _)| is_refused(section)).map_or("", |(_, why)| *why);
    let (what, before, now) = (what.to_owned(), before.to_owned(), now.to_owned());
    differs.then_some(Difference { what, before, now, refused })
}

/// The number of training samples, on which the order of the samples and the length of an epoch depend.
fn of_samples(before: Option<u64>, now: Option<u64>) -> Option<Difference> {
    let (before, now) = (before?, now?);
    (before != now).then(|| Difference {
        what: "number of training samples".to_owned(),
        before: before.to_string(),
        now: now.to_string(),
        refused: POSITION,
    })
}

fn of_config(before: &str, now: &str) -> Vec<Difference> {
    let (before, now) = (flat(before), flat(now));
    let keys: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let told = keys.into_iter().filter(|key| !UNTOLD.iter().any(|untold| is_within(key, untold)));
    let absent = |key: &str| ABSENT.iter().find(|(known, _)| *known == key).map(|(_, text)| *text);
    let text = |map: &BTreeMap<String, String>, key: &str| {
        map.get(key).cloned().unwrap_or_else(|| absent(key).unwrap_or_default().to_owned())
    };
    told.filter_map(|key| difference(key, &text(&before, key), &text(&now, key))).collect()
}

/// A config as a flat list of keys and values; entries of a list are identified by name.
fn flat(config: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    if let Ok(table) = config.parse::<toml::Table>() {
        flatten("", &Value::Table(table), &mut out);
    }
    out
}

fn flatten(key: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    let below = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| flatten(&below(name), value, out));
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            for (index, item) in items.iter().enumerate() {
                let name = item.get("name").or_else(|| item.get("type")).and_then(Value::as_str);
                flatten(&below(name.unwrap_or(&index.to_string())), item, out);
            }
        }
        value => {
            out.insert(key.to_owned(), value.to_string());
        }
    }
}

fn of_libraries(before: &[Json], now: &[Json]) -> Vec<Difference> {
    let by_name = |libraries: &[Json]| -> BTreeMap<String, String> {
        let text = |library: &Json, key: &str| library[key].as_str().unwrap_or_default().to_owned();
        let describe = |library: &Json| {
            let sha = text(library, "sha256");
            let short = sha.get(..12).unwrap_or(&sha);
            (text(library, "name"), format!("version {} ({short})", text(library, "version")))
        };
        libraries.iter().map(describe).collect()
    };
    let (before, now) = (by_name(before), by_name(now));
    let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let text =
        |map: &BTreeMap<String, String>, key: &str| map.get(key).cloned().unwrap_or_default();
    let compare = |name: &String| {
        difference(&format!("library {name}"), &text(&before, name), &text(&now, name))
    };
    names.into_iter().filter_map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn provenance(config: &str, sha256: &str) -> Provenance {
        let libraries = vec![json!({ "name": "ema", "version": "0.1.0", "sha256": sha256 })];
        Provenance { config: config.to_owned(), libraries, ..Provenance::default() }
    }

    #[test]
    fn the_same_run_differs_in_nothing() {
        let one = provenance("[train]\nseed = 1\n", "ab");
        assert_eq!(differences(&one, &one), []);
    }

    #[test]
    fn a_changed_setting_and_another_build_are_reported() {
        let before = provenance(
            "[optimizer]\nlr = 0.1\n[[custom_hooks]]\nname = \"e\"\nmomentum = 0.5\n",
            "ab",
        );
        let now = provenance(
            "[optimizer]\nlr = 0.2\n[[custom_hooks]]\nname = \"e\"\nmomentum = 0.6\n",
            "cd",
        );
        let told: Vec<_> = differences(&before, &now).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "custom_hooks.e.momentum: 0.6 was 0.5",
                "optimizer.lr: 0.2 was 0.1",
                "library ema: version 0.1.0 (cd) was version 0.1.0 (ab)",
            ]
        );
    }

    #[test]
    fn what_takes_the_meaning_from_the_position_is_refused() {
        let before =
            provenance("[train]\nseed = 1\n[run]\nname = \"a\"\n[model]\ntype = \"MLP\"\n", "");
        let now =
            provenance("[train]\nseed = 2\n[run]\nname = \"b\"\n[model]\ntype = \"Linear\"\n", "");
        let found = differences(&before, &now);
        assert_eq!(
            found.iter().map(|d| d.what.as_str()).collect::<Vec<_>>(),
            ["model.type", "train.seed"]
        );
        assert!(found.iter().all(|difference| !difference.refused.is_empty()));
    }

    #[test]
    fn another_number_of_samples_is_refused_unless_the_checkpoint_does_not_tell_its_own() {
        let of = |samples| Provenance { samples, ..Provenance::default() };
        let found = differences(&of(Some(100)), &of(Some(50)));
        let told = "number of training samples: 50 was 100 (the position in the training data would be wrong)";
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
        assert_eq!(differences(&of(Some(50)), &of(Some(50))), []);
        assert_eq!(differences(&of(None), &of(Some(50))), []);
    }

    #[test]
    fn what_changes_only_the_speed_is_reported_and_not_refused() {
        let loader = |workers: u32| {
            provenance(&format!("[data.train]\nworkers = {workers}\nprefetch = {workers}\n"), "")
        };
        let found = differences(&loader(0), &loader(4));
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|difference| difference.refused.is_empty()), "{found:?}");
    }
}

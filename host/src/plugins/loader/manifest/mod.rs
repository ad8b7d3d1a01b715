//! The manifest of a hook or metric: the JSON of its table, parsed and checked.

mod error;
mod json;
mod owner;
mod param;

pub use error::ManifestError;
pub(super) use owner::ManifestOwner;

use hookrack_plugin_api::Better;
use hookrack_plugin_api::every::Every;
use hookrack_plugin_api::{Level, OnError, OnRanks, Param, Point};
use json::{HookJson, MetricJson};
use param::ParamJson;

/// What a hook says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct HookManifest {
    /// The `type` by which a config names it.
    pub name: String,
    /// Other names that mean the same.
    pub aliases: Vec<String>,
    /// What it does, in a line.
    pub doc: String,
    /// The points at which it wants to be called, each once.
    pub points: Vec<Point>,
    /// Points that only a newer host has: it is never called there.
    pub unknown_points: Vec<String>,
    /// Its level unless the config sets one.
    pub level: Level,
    /// How often it runs unless the config sets it.
    pub every: Every,
    /// The ranks that it runs on unless the config sets them.
    pub ranks: OnRanks,
    /// Whether it saves state.
    pub has_state: bool,
    /// What it changes: `params`, `grads`, `lr`, `output`, `loss`; empty for an observer.
    pub mutates: Vec<String>,
    /// The values it reads.
    pub reads: Vec<String>,
    /// The values it writes; a scalar is written by its full name, `train/grad_norm`.
    pub writes: Vec<String>,
    /// Whether `writes` declares the scalars it logs: it names some, or none.
    pub names_scalars: bool,
    /// The operators of libtorch that it calls.
    pub ops: Vec<String>,
    /// What to do when it fails and the config does not say.
    pub on_error: Option<OnError>,
    /// Its parameters; `None` if they are not known from outside.
    pub params: Option<Vec<Param>>,
}

impl HookManifest {
    /// Whether it declares that it changes the run, or fills a role.
    pub fn changes_run(&self) -> bool {
        !self.mutates.is_empty() || self.points.iter().any(|point| point.is_role())
    }
}

/// What a metric says about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricManifest {
    /// The `type` by which a config names it.
    pub name: String,
    /// Other names that mean the same.
    pub aliases: Vec<String>,
    /// What it measures, in a line.
    pub doc: String,
    /// Which of two values is the better one.
    pub better: Option<Better>,
    /// The unit of its value; empty for a plain number.
    pub unit: String,
    /// The operators of libtorch that it calls.
    pub ops: Vec<String>,
    /// Its parameters; `None` if they are not known from outside.
    pub params: Option<Vec<Param>>,
}

impl HookManifest {
    pub(super) fn parse(text: &str, of: &ManifestOwner<'_>) -> Result<Self, ManifestError> {
        let json: HookJson = of.json(text)?;
        of.check_name(json.name)?;
        let (points, unknown_points) = of.points(json.points)?;
        let on_error =
            of.word("on_error", &json.on_error, "abort, disable or warn", OnError::from_name)?;
        let every = of.word("every", &json.every, "a cadence such as 10it or 2ep", |text| {
            Every::parse(text).ok()
        })?;
        let ranks = of.word("ranks", &json.ranks, "all, main or last_stage", OnRanks::from_name)?;
        let has = |word: &str| json.writes.iter().any(|written| written == word);
        let names = json.writes.iter().any(|word| word.contains('/') || word.starts_with('@'));
        let names_scalars = names || !(json.writes.is_empty() || has("events"));
        let something =
            |words: Vec<String>| words.into_iter().filter(|word| word != "nothing").collect();
        Ok(Self {
            name: of.name.to_owned(),
            aliases: json.aliases,
            doc: json.doc,
            points,
            unknown_points,
            level: json.level.0,
            every: every.unwrap_or(Every::Always),
            ranks: ranks.unwrap_or_default(),
            has_state: json.state,
            mutates: something(json.mutates),
            reads: something(json.reads),
            writes: something(json.writes),
            names_scalars,
            ops: json.ops,
            on_error,
            params: params(json.params),
        })
    }
}

impl MetricManifest {
    pub(super) fn parse(text: &str, of: &ManifestOwner<'_>) -> Result<Self, ManifestError> {
        let json: MetricJson = of.json(text)?;
        of.check_name(json.name)?;
        let better = of.word("better", &json.better, "higher or lower", Better::from_name)?;
        let MetricJson { aliases, doc, unit, ops, .. } = json;
        let (name, params) = (of.name.to_owned(), params(json.params));
        Ok(Self { name, aliases, doc, better, unit, ops, params })
    }
}

fn params(json: Option<Vec<ParamJson>>) -> Option<Vec<Param>> {
    json.map(|params| params.into_iter().map(Param::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(newer: bool, json: &str) -> Result<HookManifest, String> {
        let owner = ManifestOwner { kind: "hook", name: "Ema", newer };
        HookManifest::parse(json, &owner).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_manifest_leaves_out_has_the_usual_value() {
        let manifest =
            parse(false, r#"{"points":["after_step","after_train_iter"],"mutates":["nothing"]}"#)
                .unwrap();
        assert_eq!(manifest.name, "Ema");
        assert_eq!(manifest.points, [Point::AfterTrainIter]);
        assert_eq!(manifest.level, Level::NORMAL);
        assert!(manifest.mutates.is_empty() && manifest.params.is_none() && !manifest.has_state);
    }

    #[test]
    fn a_hook_that_names_its_scalars_or_says_nothing_about_events_is_known() {
        let is_known = |writes: &str| {
            let json = format!(r#"{{"points":[],"writes":{writes},"ops":["aten::mean"]}}"#);
            let manifest = parse(false, &json).unwrap();
            assert_eq!(manifest.ops, ["aten::mean"]);
            manifest.names_scalars
        };
        assert!(is_known(r#"["nothing"]"#) && is_known(r#"["lr_hint"]"#));
        assert!(is_known(r#"["events","train/lr"]"#) && is_known(r#"["@norm"]"#));
        assert!(!is_known("[]") && !is_known(r#"["events"]"#));
    }

    #[test]
    fn a_misspelt_point_is_an_error_with_the_nearest_name() {
        let error = parse(false, r#"{"points":["after_trian_iter"]}"#).unwrap_err();
        let expected = "the manifest of hook `Ema` lists an unknown point `after_trian_iter`: \
                        did you mean `after_train_iter`?";
        assert_eq!(error, expected);
    }

    #[test]
    fn words_of_a_newer_plugin_are_kept_aside() {
        let json = r#"{"points":["after_merge","before_run"],"on_error":"retry","since":[2]}"#;
        let manifest = parse(true, json).unwrap();
        assert_eq!(manifest.points, [Point::BeforeRun]);
        assert_eq!(manifest.unknown_points, ["after_merge"]);
        assert_eq!(manifest.on_error, None);
        let error = parse(false, r#"{"points":[],"on_error":"retry"}"#).unwrap_err();
        assert!(
            error.ends_with("has on_error = `retry`: expected abort, disable or warn"),
            "{error}"
        );
    }

    #[test]
    fn a_broken_manifest_tells_hook_and_position() {
        let error = parse(false, "{\"points\": [\"before_run\",\n ]}").unwrap_err();
        let expected = "the manifest of hook `Ema` is invalid: trailing comma at line 2 column 2";
        assert_eq!(error, expected);
        let error = parse(false, r#"{"name":"Emma","points":[]}"#).unwrap_err();
        assert_eq!(error, "the manifest of hook `Ema` names `Emma`: use the same name in both");
        let error = parse(false, r#"{"doc":"x"}"#).unwrap_err();
        assert!(error.contains("missing field `points`"), "{error}");
    }
}

//! A JSON Schema of config files, with the parameters of everything in a catalogue.
//!
//! A file may be a base, or get its sections, their `type` and their required keys from one, so the
//! schema requires keys only where nothing is inherited: in the entries of lists.

use hookrack_plugin_api::{Level, Param, ParamType, Presence, Value as Setting};
use serde_json::{Map, Value, json};

use super::cadence::PHASE_NAMES;
use super::catalog::{Catalog, CatalogEntry, Kind, MetricHook};
use super::fixed::{self, BASE, DELETE, SPLITS, TRANSFORMS};

/// Kinds with the name of their definition in the schema.
const DEFINITIONS: [(&str, Kind); 8] = [
    ("model", Kind::Model),
    ("loss", Kind::Loss),
    ("optimizer", Kind::Optimizer),
    ("lr_scheduler", Kind::LrScheduler),
    ("dataset", Kind::Dataset),
    ("schedule", Kind::Schedule),
    ("hook", Kind::Hook),
    ("metric", Kind::Metric),
];

/// The definition of a model's layer, which may have layers of its own.
const LAYER: &str = "layer";

/// The schema (draft 2020-12) of a whole config file.
pub fn json_schema(catalog: &Catalog) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hookrack config",
        "type": "object",
        "properties": top_level(catalog),
        "additionalProperties": false,
        "$defs": definitions(catalog),
    })
}

fn top_level(catalog: &Catalog) -> Map<String, Value> {
    let mut properties = Map::new();
    properties.insert(BASE.into(), base_schema());
    for key in fixed::TOP_LEVEL {
        properties.extend(fixed::section_params(key).map(|params| (key.into(), section(&params))));
    }
    for component in fixed::COMPONENTS {
        properties.insert(component.key.into(), reference(component.key));
    }
    properties.insert("data".into(), data_schema());
    properties.insert("default_hooks".into(), default_hooks_schema(catalog));
    properties.insert("metrics".into(), list(catalog, Kind::Metric));
    properties.insert("custom_hooks".into(), list(catalog, Kind::Hook));
    properties.insert(DELETE.into(), delete_schema());
    properties
}

/// One definition per kind: the tables that may build on a base, and a layer.
fn definitions(catalog: &Catalog) -> Map<String, Value> {
    let defined =
        DEFINITIONS.into_iter().map(|(name, kind)| (name.to_owned(), mergeable(catalog, kind)));
    // Layers have layers: the one definition that refers to itself.
    let layer = (LAYER.to_owned(), list(catalog, Kind::Layer)["items"].take());
    defined.chain([layer]).collect()
}

fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

fn base_schema() -> Value {
    json!({
        "description": "configs that this one extends, relative to it; later ones take precedence",
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
    })
}

fn delete_schema() -> Value {
    json!({ "type": "boolean", "description": "true discards this table of the base configs" })
}

/// A fixed section.
fn section(params: &[Param]) -> Value {
    let mut properties = param_schemas(params);
    properties.insert(DELETE.into(), delete_schema());
    object(&properties)
}

fn data_schema() -> Value {
    let splits = SPLITS.map(|key| (key.to_owned(), reference("dataset")));
    let mut properties: Map<_, _> = splits.into_iter().collect();
    let tests = json!({ "type": "object", "additionalProperties": reference("dataset") });
    properties.insert(fixed::TESTS.into(), tests);
    properties.insert(DELETE.into(), delete_schema());
    object(&properties)
}

/// A default hook is on or off, has settings of its own type, or names another type.
fn default_hooks_schema(catalog: &Catalog) -> Value {
    let mut properties = Map::new();
    for default in &catalog.default_hooks {
        let entries = catalog.of(Kind::Hook).filter(|entry| entry.answers_to(&default.type_name));
        let own = entries.map(|entry| alternative(catalog, Kind::Hook, entry, &[], true));
        let other = json!({ "required": ["type"], "$ref": "#/$defs/hook" });
        let any: Vec<Value> =
            std::iter::once(json!({ "type": "boolean" })).chain(own).chain([other]).collect();
        properties.insert(default.key.clone(), json!({ "anyOf": any }));
    }
    properties.insert(DELETE.into(), delete_schema());
    object(&properties)
}

/// A table by `type` that may build on a base.
fn mergeable(catalog: &Catalog, kind: Kind) -> Value {
    let own = catalog.of(kind).map(|entry| alternative(catalog, kind, entry, &["type"], true));
    let alternatives: Vec<Value> = own.chain([inherited(catalog, kind)]).collect();
    // Two libraries may have the same type, so both alternatives may match.
    let choice = if kind.comes_from_libraries() { "anyOf" } else { "oneOf" };
    json!({ "type": "object", choice: alternatives })
}

/// A table whose `type` is in a base: it may have any parameter of any type.
fn inherited(catalog: &Catalog, kind: Kind) -> Value {
    let mut merged: Map<String, Value> = Map::new();
    for (name, schema) in catalog.of(kind).flat_map(|entry| param_schemas(&entry.params)) {
        let schemas = merged.entry(name).or_insert_with(|| json!({ "anyOf": [] }));
        if let Some(schemas) = schemas["anyOf"].as_array_mut().filter(|all| !all.contains(&schema))
        {
            schemas.push(schema);
        }
    }
    merged.extend(param_schemas(&fixed::reserved_params(kind)));
    merged.extend(special_keys(catalog, kind));
    merged.insert(DELETE.into(), delete_schema());
    let mut schema = object(&merged);
    schema["not"] = json!({ "required": ["type"] });
    schema
}

/// A list of tables by `type`. Lists are never merged, so each entry is complete.
fn list(catalog: &Catalog, kind: Kind) -> Value {
    let entries = catalog.of(kind).map(|entry| {
        let params = entry.params.iter().filter(|param| param.presence == Presence::Required);
        let required: Vec<_> =
            std::iter::once("type").chain(params.map(|param| param.name.as_str())).collect();
        alternative(catalog, kind, entry, &required, false)
    });
    let standing_in = catalog.metric_hooks().iter().filter(|_| kind == Kind::Hook);
    let entries: Vec<_> =
        entries.chain(standing_in.map(|hook| metric_hook(catalog, hook))).collect();
    json!({ "type": "array", "items": { "type": "object", "anyOf": entries } })
}

/// A hook entry that adds a metric, with the settings of that metric.
fn metric_hook(catalog: &Catalog, hook: &MetricHook) -> Value {
    let mut properties = param_schemas(&fixed::reserved_params(Kind::Metric));
    properties.insert("type".into(), json!({ "const": hook.name }));
    properties.extend(special_keys(catalog, Kind::Metric));
    properties.insert(hook.key.clone(), json!({ "type": "string" }));
    let mut required = vec!["type"];
    if hook.metric.is_none() {
        required.push(&hook.key);
    }
    json!({ "title": hook.name, "type": "object", "properties": properties, "required": required })
}

/// A table whose `type` is this entry.
fn alternative(
    catalog: &Catalog,
    kind: Kind,
    entry: &CatalogEntry,
    required: &[&str],
    merges: bool,
) -> Value {
    let mut properties = param_schemas(&fixed::reserved_params(kind));
    let names: Vec<_> = entry.names().collect();
    properties.insert(
        "type".into(),
        match names.as_slice() {
            [name] => json!({ "const": name, "description": entry.doc }),
            names => json!({ "enum": names, "description": entry.doc }),
        },
    );
    properties.extend(special_keys(catalog, kind));
    if entry.has_cadence() {
        properties.extend(param_schemas(&[fixed::interval()]));
    }
    properties.extend(param_schemas(&entry.params));
    if matches!(kind, Kind::Model | Kind::Layer) {
        describe_layers(entry, &mut properties);
    }
    if merges {
        properties.insert(DELETE.into(), delete_schema());
    }
    let mut schema = object(&properties);
    if entry.is_open {
        schema["additionalProperties"] = json!(true);
    }
    schema["title"] = json!(entry.name);
    schema["description"] = json!(entry.doc);
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A list of layers has entries by `type`, which the parameter alone does not know.
fn describe_layers(entry: &CatalogEntry, properties: &mut Map<String, Value>) {
    let described = |param: &&Param| param.name == "layers" && param.ty == ParamType::Any;
    if let Some(layers) = entry.params.iter().find(described) {
        let schema = &mut properties[&layers.name];
        (schema["type"], schema["items"]) = (json!("array"), reference(LAYER));
    }
}

/// The reserved keys with a syntax of their own.
fn special_keys(catalog: &Catalog, kind: Kind) -> Map<String, Value> {
    let mut keys = Map::new();
    let described = |name: &str, mut schema: Value| {
        let params = fixed::reserved_params(kind);
        let doc = params.iter().find(|param| param.name == name).map(|param| param.doc.clone());
        schema["description"] = json!(doc);
        (name.to_owned(), schema)
    };
    if kind.comes_from_libraries() {
        let upper = Level::NAMED.iter().map(|(name, _)| (*name).to_owned());
        let lower = Level::NAMED.iter().map(|(name, _)| name.to_lowercase());
        let names: Vec<String> = upper.chain(lower).collect();
        keys.extend([
            described("level", json!({ "anyOf": [{ "type": "integer" }, { "enum": names }] })),
            described("every", json!({ "type": "string", "pattern": "^0*[1-9][0-9]*(it|ep)$" })),
        ]);
    }
    if kind == Kind::Dataset {
        keys.extend([described(TRANSFORMS, list(catalog, Kind::Transform))]);
    }
    if kind.comes_from_libraries() {
        let one = type_schema(&fixed::one_of(&PHASE_NAMES));
        let some = json!({ "type": "array", "minItems": 1, "items": one });
        keys.extend([described("phase", json!({ "anyOf": [one, some] }))]);
    }
    keys
}

fn object(properties: &Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn param_schemas(params: &[Param]) -> Map<String, Value> {
    let named = |param| Param::keys(param).map(|key| (key.to_owned(), param_schema(param)));
    params.iter().flat_map(named).collect()
}

fn param_schema(param: &Param) -> Value {
    let mut schema = type_schema(&param.ty);
    let numbers =
        if matches!(param.ty, ParamType::List(_)) { &mut schema["items"] } else { &mut schema };
    for (key, limit) in [("minimum", param.min), ("maximum", param.max)] {
        // JSON has no infinity: such a bound is omitted.
        if let Some(limit) = limit.filter(|limit| limit.is_finite()) {
            numbers[key] = json!(limit);
        }
    }
    let required = if param.presence == Presence::Required { " (required)" } else { "" };
    schema["description"] = json!(format!("{}{required}", param.doc));
    if let Presence::Default(value) = &param.presence {
        schema["default"] = setting(value);
    }
    schema
}

fn type_schema(ty: &ParamType) -> Value {
    match ty {
        ParamType::Bool => json!({ "type": "boolean" }),
        ParamType::Int => json!({ "type": "integer" }),
        ParamType::Float => json!({ "type": "number" }),
        ParamType::Str | ParamType::Path | ParamType::Monitor => json!({ "type": "string" }),
        ParamType::OneOf(choices) => json!({ "enum": choices }),
        ParamType::List(inner) => json!({ "type": "array", "items": type_schema(inner) }),
        ParamType::Table(params) => object(&param_schemas(params)),
        ParamType::Model => json!({ "type": "object", "required": ["type"] }),
        ParamType::Any => json!({}),
    }
}

/// A default as JSON. JSON has no infinity, so such a default is left to the description.
fn setting(value: &Setting) -> Value {
    match value {
        Setting::Bool(value) => json!(value),
        Setting::Int(value) => json!(value),
        Setting::Float(value) => json!(value),
        Setting::Str(value) => json!(value),
        Setting::List(values) => values.iter().map(setting).collect(),
        Setting::Table(pairs) => {
            Value::Object(pairs.iter().map(|(key, value)| (key.clone(), setting(value))).collect())
        }
    }
}

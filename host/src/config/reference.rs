//! The tables of the documentation, made from the descriptions that a config is checked against.

use std::fmt::Write as _;

use hookrack_plugin_api::{Level, Param, ParamType, Presence, Value};

use super::catalog::{Catalog, CatalogEntry, Kind};
use super::fixed;
use super::tree::Node;
use super::write::inline;

/// The markers that open and close a table on a page.
const OPEN: &str = "<!-- ";
const CLOSE: &str = "\n<!-- end -->";

/// A page with its tables regenerated: the text between `<!-- keys of [train] -->`, `<!-- keys of model MLP -->`,
/// `<!-- keys of every optimizer -->`, `<!-- types of transform -->` or `<!-- named levels -->` and `<!-- end -->`.
///
/// # Errors
/// A marker is not closed or names something unknown.
pub fn fill(page: &str, catalog: &Catalog) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = page;
    while let Some((before, after)) = split_marker(rest) {
        let (marker, old) = after.split_once(" -->").ok_or("a marker is not closed")?;
        let (_, next) = old.split_once(CLOSE).ok_or_else(|| format!("`{marker}` has no end"))?;
        let table = table(marker, catalog).ok_or_else(|| format!("nothing is `{marker}`"))?;
        _ = write!(filled, "{before}{OPEN}{marker} -->\n\n{table}{CLOSE}");
        rest = next;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn split_marker(page: &str) -> Option<(&str, &str)> {
    let places =
        ["keys of ", "types of ", "named "].map(|word| page.find(&format!("{OPEN}{word}")));
    let place = places.into_iter().flatten().min()?;
    Some((&page[..place], &page[place + OPEN.len()..]))
}

fn table(marker: &str, catalog: &Catalog) -> Option<String> {
    match marker {
        "types of default hook" => return Some(default_hooks(catalog)),
        "named levels" => return Some(levels()),
        _ => {}
    }
    if let Some(of) = marker.strip_prefix("types of ") {
        let (noun, without) = of.split_once(" without ").unwrap_or((of, ""));
        return Some(types(catalog, kind(noun)?, without));
    }
    let of = marker.strip_prefix("keys of ")?;
    if let Some(path) = of.strip_prefix('[').and_then(|of| of.strip_suffix(']')) {
        return Some(keys(&section(path)?));
    }
    if let Some(noun) = of.strip_prefix("every ") {
        return Some(keys(&fixed::reserved_params(kind(noun)?)));
    }
    let (noun, name) = of.rsplit_once(' ')?;
    match name.split_once('.') {
        None => Some(described(entry(catalog, kind(noun)?, name)?)),
        Some((name, within)) => {
            let params = &entry(catalog, kind(noun)?, name)?.params;
            Some(keys(&nested(params, within)?))
        }
    }
}

/// A type: its name, what it is, and its parameters.
fn described(entry: &CatalogEntry) -> String {
    let also = match entry.aliases.as_slice() {
        [] => String::new(),
        aliases => format!(" (also {})", quoted(aliases)),
    };
    let sentence = format!("**`{}`**{also}: {}", entry.name, entry.doc);
    if entry.params.is_empty() {
        return sentence;
    }
    format!("{sentence}\n\n{}", keys(&entry.params))
}

fn kind(noun: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.noun() == noun)
}

fn entry<'a>(catalog: &'a Catalog, kind: Kind, name: &str) -> Option<&'a CatalogEntry> {
    catalog.of(kind).find(|entry| entry.name == name)
}

/// The parameters of a section, or of a table within one: `train.loss_scaler`.
fn section(path: &str) -> Option<Vec<Param>> {
    let (key, within) = path.split_once('.').unwrap_or((path, ""));
    let component = fixed::COMPONENTS.iter().find(|component| component.key == key);
    let params = fixed::section_params(key)
        .or_else(|| component.map(|component| fixed::reserved_params(component.kind)))?;
    if within.is_empty() {
        return Some(params);
    }
    nested(&params, within)
}

/// The parameters of a table, or of a list of tables, that a parameter takes.
fn nested(params: &[Param], name: &str) -> Option<Vec<Param>> {
    match &params.iter().find(|param| param.name == name)?.ty {
        ParamType::Table(params) => Some(params.clone()),
        ParamType::List(item) => match item.as_ref() {
            ParamType::Table(params) => Some(params.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Parameters, each followed by those of the table that it takes, named by their path: `grad_clip.max_norm`; `groups[].lr` in a list of
/// tables.
pub fn with_nested(params: &[Param]) -> Vec<Param> {
    let mut all = Vec::new();
    for param in params {
        let (within, inner) = match &param.ty {
            ParamType::Table(inner) => (param.name.clone(), inner.as_slice()),
            ParamType::List(item) => match item.as_ref() {
                ParamType::Table(inner) => (format!("{}[]", param.name), inner.as_slice()),
                _ => (String::new(), &[][..]),
            },
            _ => (String::new(), &[][..]),
        };
        all.push(param.clone());
        let inner = with_nested(inner).into_iter();
        all.extend(inner.map(|param| Param { name: format!("{within}.{}", param.name), ..param }));
    }
    all
}

/// A table with a row for each parameter.
pub fn keys(params: &[Param]) -> String {
    let mut out = "| key | type | default | |\n|---|---|---|---|\n".to_owned();
    for param in params {
        let (doc, default) = doc_and_default(param);
        let also = match param.aliases.as_slice() {
            [] => String::new(),
            aliases => format!(" Also named {}.", quoted(aliases)),
        };
        let range = range(param).map_or_else(String::new, |range| format!(", {range}"));
        let ty = format!("{}{range}", type_name(&param.ty));
        let cells = [format!("`{}`", param.name), ty, default, format!("{doc}{also}")];
        _ = writeln!(out, "| {} |", cells.map(|text| cell(&text)).join(" | "));
    }
    out.truncate(out.trim_end().len());
    out
}

/// A table with a row for each type of a kind; `without` is a key that all have.
fn types(catalog: &Catalog, kind: Kind, without: &str) -> String {
    let mut out = "| type | parameters and defaults | |\n|---|---|---|\n".to_owned();
    for entry in catalog.of(kind) {
        let names: Vec<String> = entry.names().map(str::to_owned).collect();
        let params = entry.params.iter().filter(|param| param.name != without);
        let params: Vec<String> = params.map(brief).collect();
        let cells = [quoted(&names), params.join(", "), entry.doc.clone()];
        _ = writeln!(out, "| {} |", cells.map(|text| cell(&text)).join(" | "));
    }
    out.truncate(out.trim_end().len());
    out
}

/// The hooks that run by default, in their order.
fn default_hooks(catalog: &Catalog) -> String {
    let mut out = "| key | type | level |\n|---|---|---|\n".to_owned();
    for hook in &catalog.default_hooks {
        _ = writeln!(out, "| `{}` | `{}` | {} |", hook.key, hook.type_name, hook.level);
    }
    out.truncate(out.trim_end().len());
    out
}

/// The named levels, in the order in which they run.
fn levels() -> String {
    let rows = Level::NAMED.map(|(name, Level(level))| format!("| `{name}` | {level} |"));
    format!("| name | level |\n|---|---|\n{}", rows.join("\n"))
}

/// `name = default`, or the name alone without a default.
fn brief(param: &Param) -> String {
    match &param.presence {
        Presence::Default(value) => format!("`{} = {}`", param.name, toml(value)),
        Presence::Required => format!("`{}` (required)", param.name),
        Presence::Optional => format!("`{}`", param.name),
    }
}

/// What a parameter does, and its default. A default that depends on something else is part of the description.
fn doc_and_default(param: &Param) -> (&str, String) {
    match &param.presence {
        Presence::Required => (&param.doc, "required".to_owned()),
        Presence::Default(value) => (&param.doc, format!("`{}`", toml(value))),
        Presence::Optional => match param.doc.rsplit_once(" Default: ") {
            Some((doc, default)) => (doc, default.trim_end_matches('.').to_owned()),
            None => (&param.doc, String::new()),
        },
    }
}

/// Text in a cell of a table.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A list of words as code.
pub fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The name of a type in a table.
pub fn type_name(ty: &ParamType) -> String {
    match ty {
        ParamType::Bool => "bool".into(),
        ParamType::Int => "int".into(),
        ParamType::Float => "float".into(),
        ParamType::Str => "string".into(),
        ParamType::Path => "path".into(),
        ParamType::Monitor => "scalar".into(),
        ParamType::OneOf(names) => {
            names.iter().map(|name| format!("`\"{name}\"`")).collect::<Vec<_>>().join(", ")
        }
        ParamType::List(item) => match item.as_ref() {
            ParamType::Any => "list".into(),
            item => format!("list of {}", type_name(item)),
        },
        ParamType::Table(_) => "table".into(),
        ParamType::Model => "model".into(),
        ParamType::Any => String::new(),
    }
}

/// The range of a parameter in words; `None` if it is unlimited.
pub fn range(param: &Param) -> Option<String> {
    // A bound beyond 32 bits, or infinity, is not mentioned.
    let is_near = |bound: &f64| bound.abs() < f64::from(i32::MAX);
    match (param.min.filter(is_near), param.max.filter(is_near)) {
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (None, None) => None,
    }
}

/// A value as a config has it, on one line.
pub fn toml(value: &Value) -> String {
    inline(&Node::from_default(value))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample_catalog;
    use super::*;

    #[test]
    fn a_table_is_written_between_its_markers_and_the_rest_stays() {
        let page = "a\n<!-- keys of [weights.rename] -->\nold\n<!-- end -->\nb\n";
        let filled = fill(page, &sample_catalog()).unwrap();
        let rows: Vec<&str> = filled.lines().collect();
        assert_eq!(
            rows[..4],
            ["a", "<!-- keys of [weights.rename] -->", "", "| key | type | default | |"]
        );
        assert!(rows[5].starts_with("| `from` | string | required |"), "{filled}");
        assert!(filled.ends_with("\n<!-- end -->\nb\n"), "{filled}");
        assert_eq!(fill(&filled, &sample_catalog()), Ok(filled));
    }

    #[test]
    fn a_default_from_elsewhere_is_in_the_column_of_defaults() {
        let filled = fill("<!-- keys of [run] -->\n<!-- end -->", &sample_catalog()).unwrap();
        let row = filled.lines().find(|row| row.starts_with("| `name`")).unwrap();
        assert!(row.contains("| the name of the config file |"), "{row}");
    }

    #[test]
    fn the_keys_of_a_table_follow_it_under_their_path() {
        let param = |name: &str, ty| Param {
            name: name.to_owned(),
            aliases: Vec::new(),
            doc: String::new(),
            ty,
            presence: Presence::Optional,
            min: None,
            max: None,
        };
        let clip = ParamType::Table(vec![param("max_norm", ParamType::Float)]);
        let groups = ParamType::List(Box::new(clip.clone()));
        let all = [param("clip", clip), param("groups", groups), param("x", ParamType::Int)];
        let names: Vec<_> = with_nested(&all).into_iter().map(|param| param.name).collect();
        assert_eq!(names, ["clip", "clip.max_norm", "groups", "groups[].max_norm", "x"]);
    }

    #[test]
    fn an_unknown_marker_is_an_error() {
        let page = |marker: &str| format!("<!-- {marker} -->\n\n<!-- end -->");
        let failed = |marker: &str| fill(&page(marker), &sample_catalog()).unwrap_err();
        assert!(failed("keys of [nothing]").contains("keys of [nothing]"));
        assert!(failed("keys of model Nothing").contains("Nothing"));
        let open = fill("<!-- keys of [run] -->\n", &sample_catalog()).unwrap_err();
        assert!(open.contains("has no end"), "{open}");
    }
}

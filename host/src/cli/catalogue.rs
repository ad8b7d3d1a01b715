//! Every hook and metric as one Markdown page, from the manifests that `inspect` prints: `docs/hooks.md` is made by it.

use crate::config::Source;
use crate::config::reference::{self, cell, quoted, toml};
use crate::inventory::Inventory;
use crate::metrics::{COMPANIONS, METRIC_HOOKS};
use crate::plugins::{HookManifest, MetricManifest};
use hookrack_plugin_api::every::Every;
use hookrack_plugin_api::{Better, OnRanks, Param, ParamType, Presence};
use std::fmt::Write as _;

const HEAD: &str = "\
# Hooks and metrics

Every hook and metric that ships with hookrack, built in or as a bundled plugin. This page is generated from their manifests by
`hookrack plugins --markdown`; `hookrack inspect LIBRARY` prints the same for any library.

Lower levels run first. Keys that every entry accepts, such as `level` and `every`, are in [config.md](config.md#keys-of-every-entry).
";

/// The page.
pub(super) fn markdown(inventory: &Inventory) -> String {
    let (mut hooks, mut metrics): (Vec<_>, Vec<_>) =
        (inventory.hooks().collect(), inventory.metrics().collect());
    hooks.sort_by_key(|(hook, _)| hook.name.to_lowercase());
    metrics.sort_by_key(|(metric, _)| metric.name.to_lowercase());
    let mut out = HEAD.to_owned();
    index(&mut out, "Hooks", hooks.iter().map(|(hook, _)| (hook.name.as_str(), hook.doc.as_str())));
    index(
        &mut out,
        "Metrics",
        metrics.iter().map(|(metric, _)| (metric.name.as_str(), metric.doc.as_str())),
    );
    out.push_str("\n# Hooks\n");
    for (hook, source) in &hooks {
        hook_section(&mut out, hook, source);
    }
    metric_hooks(&mut out);
    out.push_str("\n# Metrics\n");
    for (metric, source) in &metrics {
        metric_section(&mut out, metric, source);
    }
    out
}

fn index<'a>(out: &mut String, title: &str, rows: impl Iterator<Item = (&'a str, &'a str)>) {
    _ = write!(out, "\n| {title} | |\n|---|---|\n");
    for (name, doc) in rows {
        _ = writeln!(out, "| [`{name}`](#{}) | {} |", name.to_lowercase(), cell(doc));
    }
}

fn hook_section(out: &mut String, hook: &HookManifest, source: &Source) {
    let HookManifest { name, aliases, doc, points, level, .. } = hook;
    _ = write!(out, "\n## {name}\n\n{doc}\n\n");
    if !aliases.is_empty() {
        _ = writeln!(out, "- also named {}", quoted(aliases));
    }
    provenance(out, source);
    _ = writeln!(out, "- level {level}");
    if hook.every != Every::Always {
        _ = writeln!(
            out,
            "- every `{}` by default; set it with `every`, or with `interval = 5` in the same unit",
            hook.every
        );
    }
    let points: Vec<_> = points.iter().map(|point| point.name().to_owned()).collect();
    _ = writeln!(out, "- points {}", quoted(&points));
    for (_, metric) in COMPANIONS.iter().filter(|(of, _)| of == name) {
        let anchor = metric.to_lowercase();
        _ = writeln!(
            out,
            "- adds the metric [`{metric}`](#{anchor}), as an entry of `[[custom_hooks]]`"
        );
    }
    facts(out, hook);
    params(out, hook.params.as_deref());
    snippet(out, "custom_hooks", name, source, hook.params.as_deref());
}

fn facts(out: &mut String, manifest: &HookManifest) {
    let HookManifest { mutates, reads, writes, .. } = manifest;
    for (word, values) in [("mutates", mutates), ("reads", reads), ("writes", writes)] {
        if !values.is_empty() {
            _ = writeln!(out, "- {word} {}", values.join(", "));
        }
    }
    if manifest.has_state {
        out.push_str("- state is saved in checkpoints\n");
    }
    match manifest.ranks {
        OnRanks::All => {}
        OnRanks::Main => out.push_str("- runs on the main rank\n"),
        OnRanks::LastStage => {
            out.push_str("- runs on the ranks with the last stage of a pipeline\n");
        }
    }
    if let Some(policy) = manifest.on_error {
        _ = writeln!(out, "- on error `{}`", policy.name());
    }
}

fn metric_section(out: &mut String, metric: &MetricManifest, source: &Source) {
    let MetricManifest { name, aliases, doc, better, unit, params: settings, .. } = metric;
    _ = write!(out, "\n## {name}\n\n{doc}\n\n");
    if !aliases.is_empty() {
        _ = writeln!(out, "- also named {}", quoted(aliases));
    }
    provenance(out, source);
    match better {
        Some(Better::Higher) => out.push_str("- higher is better\n"),
        Some(Better::Lower) => out.push_str("- lower is better\n"),
        None => {}
    }
    if !unit.is_empty() {
        _ = writeln!(out, "- in {unit}");
    }
    params(out, settings.as_deref());
    snippet(out, "metrics", name, source, settings.as_deref());
}

/// The hook names that add a metric.
fn metric_hooks(out: &mut String) {
    for (name, key, metric) in METRIC_HOOKS {
        let what = match metric {
            None => format!("the metric whose type is `{key}`"),
            Some(metric) => format!(
                "the metric [`{metric}`](#{}), or the one whose type is `{key}`",
                metric.to_lowercase()
            ),
        };
        let key = if metric.is_none() { format!("{key} = \"Accuracy\"\n") } else { String::new() };
        _ = write!(
            out,
            "\n## {name}\n\nAdds {what}, like an entry of `[[metrics]]` with the same settings.\n\n\
             ```toml\n[[custom_hooks]]\ntype = \"{name}\"\n{key}```\n"
        );
    }
}

fn provenance(out: &mut String, source: &Source) {
    if let Some(file) = library(source) {
        _ = writeln!(out, "- in `{file}`");
    }
}

fn library(source: &Source) -> Option<String> {
    Some(source.library()?.file_name()?.to_string_lossy().into_owned())
}

fn params(out: &mut String, params: Option<&[Param]>) {
    let Some(params) = params else {
        out.push_str("\nIts parameters are not described; it checks them itself.\n");
        return;
    };
    if params.is_empty() {
        return;
    }
    _ = writeln!(out, "\n{}", reference::keys(&reference::with_nested(params)));
}

/// An entry with every parameter at its default.
fn snippet(out: &mut String, list: &str, name: &str, source: &Source, params: Option<&[Param]>) {
    _ = write!(out, "\n```toml\n[[{list}]]\ntype = \"{name}\"\n");
    if let Some(file) = library(source) {
        _ = writeln!(out, "library = \"{file}\"");
    }
    for param in params.unwrap_or_default() {
        match &param.presence {
            Presence::Default(value) => _ = writeln!(out, "{} = {}", param.name, toml(value)),
            Presence::Required => _ = writeln!(out, "{} = {}", param.name, example(&param.ty)),
            Presence::Optional => {}
        }
    }
    out.push_str("```\n");
}

/// What a required parameter may look like.
fn example(ty: &ParamType) -> String {
    match ty {
        ParamType::Bool => "true".to_owned(),
        ParamType::Int => "1".to_owned(),
        ParamType::Float => "1.0".to_owned(),
        ParamType::OneOf(names) => format!("\"{}\"", names.first().map_or("", String::as_str)),
        ParamType::List(_) => "[]".to_owned(),
        ParamType::Table(_) => "{}".to_owned(),
        ParamType::Model => "{ type = \"…\" }".to_owned(),
        ParamType::Str | ParamType::Path | ParamType::Monitor | ParamType::Any => {
            "\"…\"".to_owned()
        }
    }
}

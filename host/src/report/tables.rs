//! The tables of the page.

use super::chart::short;
use super::page::duration;
use hookrack_chart::escape;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// A table with a title; nothing if it would be empty.
fn table(out: &mut String, title: &str, head: &[&str], rows: &[String]) {
    if rows.is_empty() {
        return;
    }
    let column = |name: &&str| match name.strip_prefix('#') {
        Some(number) => format!("<th class=\"n\">{number}</th>"),
        None => format!("<th>{name}</th>"),
    };
    let head: String = head.iter().map(column).collect();
    _ = writeln!(out, "<h2>{title}</h2>\n<table><tr>{head}</tr>");
    for row in rows {
        _ = writeln!(out, "<tr>{row}</tr>");
    }
    out.push_str("</table>\n");
}

fn number(value: Option<f64>) -> String {
    format!("<td class=\"n\">{}</td>", value.map_or_else(|| "–".to_owned(), short))
}

/// A cell with a bar of this fraction of the width.
fn bar(share: f64) -> String {
    let percent = if share.is_finite() { share.clamp(0.0, 1.0) * 100.0 } else { 0.0 };
    format!(
        "<td class=\"n\">{percent:.1} %</td><td class=\"bar\"><i style=\"width:{percent:.2}%\"></i></td>"
    )
}

/// Last and best value of each metric.
pub(super) fn metrics(out: &mut String, record: &Json) {
    let all = record["metrics"].as_object().into_iter().flatten();
    let row = |(name, metric): (&String, &Json)| {
        let best = &metric["best"];
        let epoch =
            best["epoch"].as_u64().map_or_else(|| "–".to_owned(), |epoch| epoch.to_string());
        format!(
            "<td>{}</td>{}{}<td class=\"n\">{epoch}</td>",
            escape(name),
            number(metric["last"].as_f64()),
            number(best["value"].as_f64())
        )
    };
    let rows: Vec<_> = all.map(row).collect();
    table(out, "Metrics", &["metric", "#last", "#best", "#in epoch"], &rows);
}

/// What a supervisor had to do.
pub(super) fn crashes(out: &mut String, record: &Json) {
    let all = record["supervised"]["crashes"].as_array().into_iter().flatten();
    let row = |crash: &Json| {
        let from = match crash["resumed_from"].as_u64() {
            Some(iter) if iter > 0 => format!("iteration {iter}"),
            _ => "the start".to_owned(),
        };
        let message = escape(crash["message"].as_str().unwrap_or_default());
        format!("<td>{message}</td><td>{from}</td>")
    };
    let rows: Vec<_> = all.map(row).collect();
    table(out, "Crashes", &["what happened", "last checkpoint"], &rows);
    let left_out: Vec<_> =
        record["left_out"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    if !left_out.is_empty() {
        _ = writeln!(out, "<p>The run was completed without {}.</p>", escape(&left_out.join(", ")));
    }
}

/// Time by phase.
pub(super) fn phases(out: &mut String, record: &Json) {
    let phases: Vec<_> = record["phases"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, seconds)| Some((name, seconds.as_f64()?)))
        .collect();
    let all: f64 = phases.iter().map(|(_, seconds)| seconds).sum();
    let row = |(name, seconds): &(&String, f64)| {
        let (name, time) = (escape(name), duration(*seconds));
        format!("<td>{name}</td><td class=\"n\">{time}</td>{}", bar(seconds / all))
    };
    let rows: Vec<_> = phases.iter().map(row).collect();
    table(out, "Time by phase", &["phase", "#time", "#share", ""], &rows);
}

/// The cost of each hook and metric, most expensive first.
pub(super) fn hooks(out: &mut String, record: &Json) {
    let run = record["seconds"].as_f64().unwrap_or(f64::NAN) * 1e3;
    let cost = |hook: &Json| {
        let (calls, ms) = (hook["calls"].as_f64()?, hook["ms"].as_f64()?);
        Some((ms, calls, hook["hook"].as_str()?.to_owned()))
    };
    let mut costs: Vec<_> =
        record["hook_costs"].as_array().into_iter().flatten().filter_map(cost).collect();
    costs.retain(|(_, calls, _)| *calls > 0.0);
    costs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let row = |(ms, calls, name): &(f64, f64, String)| {
        let (name, time) = (escape(name), duration(ms / 1e3));
        let each = ms * 1e3 / calls;
        format!(
            "<td>{name}</td><td class=\"n\">{time}</td><td class=\"n\">{calls}</td>\
             <td class=\"n\">{each:.1} µs</td>{}",
            bar(ms / run)
        )
    };
    let rows: Vec<_> = costs.iter().map(row).collect();
    let head = ["hook", "#time", "#calls", "#each", "#of the run", ""];
    table(out, "Time by hook", &head, &rows);
}

/// Versions, machine and plugins.
pub(super) fn environment(out: &mut String, record: &Json) {
    let text = |value: &Json| match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let machine = &record["machine"];
    let facts = [
        ("command", &record["command"]),
        ("config", &record["config"]),
        ("hookrack", &record["hookrack"]),
        ("libtorch", &record["libtorch"]),
        ("threads", &record["threads"]),
        ("kernels", &record["kernels"]),
        ("machine", &machine["name"]),
        ("cpus", &machine["cpus"]),
        ("system", &machine["os"]),
        ("processor", &machine["arch"]),
    ];
    let row = |name: &str, value: &str| {
        format!("<td class=\"soft\">{name}</td><td><code>{}</code></td>", escape(value))
    };
    let mut rows: Vec<_> =
        facts.iter().filter_map(|(name, value)| Some(row(name, &text(value)?))).collect();
    for plugin in record["plugins"].as_array().into_iter().flatten() {
        let part = |key: &str| plugin[key].as_str().unwrap_or_default();
        let (name, version, path, sha256) =
            (part("name"), part("version"), part("path"), part("sha256"));
        rows.push(row("plugin", &format!("{name} {version}, {path}, sha256 {sha256}")));
    }
    table(out, "Environment", &["", ""], &rows);
}

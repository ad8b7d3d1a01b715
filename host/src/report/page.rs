//! The page: head, key numbers, charts, tables, config.

use super::chart::{Chart, short};
use super::clock_time::utc;
use super::{Run, curves, tables};
use crate::writers::human;
use hookrack_chart::escape;
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::time::Duration;

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn page(run: &Run) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>\n{STYLE}</style></head><body>\n",
        escape(&run.name)
    );
    head(&mut out, run);
    cards(&mut out, &run.record);
    charts(&mut out, &run.charts, run.left_out);
    curves::section(&mut out, &run.squares);
    tables::metrics(&mut out, &run.record);
    tables::crashes(&mut out, &run.record);
    tables::phases(&mut out, &run.record);
    tables::hooks(&mut out, &run.record);
    tables::environment(&mut out, &run.record);
    if !run.config.is_empty() {
        let config = escape(run.config.trim_end());
        _ = writeln!(out, "<h2>Config, resolved</h2>\n<pre>{config}</pre>");
    }
    out.push_str("</body></html>\n");
    out
}

/// Seconds of the record, human-readable.
pub(super) fn duration(seconds: f64) -> String {
    human(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

fn head(out: &mut String, run: &Run) {
    let record = &run.record;
    let outcome = escape(record["outcome"].as_str().unwrap_or("unknown"));
    let name = escape(&run.name);
    _ = writeln!(out, "<h1>{name}<span class=\"badge {outcome}\">{outcome}</span></h1>");
    if let Some(why) = record["why"].as_str() {
        _ = writeln!(out, "<div>{}</div>", escape(why));
    }
    if let Some(warning) = record["warning"].as_str() {
        _ = writeln!(out, "<div class=\"warning\">Warning: {}</div>", escape(warning));
    }
    let mut facts = Vec::new();
    if let (Some(epoch), Some(iter)) = (record["epoch"].as_u64(), record["iter"].as_u64()) {
        facts.push(format!("{epoch} epochs, {iter} iterations"));
    }
    if let Some(seconds) = record["seconds"].as_f64() {
        facts.push(format!("in {}", duration(seconds)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole seconds since 1970"
    )]
    if let Some(began) = record["began"].as_f64() {
        facts.push(format!("begun {}", utc(began as u64)));
    }
    _ = writeln!(out, "<div class=\"soft\">{}</div>", facts.join(" · "));
}

/// The best value of each metric that has one.
fn cards(out: &mut String, record: &Json) {
    let best = record["metrics"].as_object().into_iter().flatten().filter_map(|(name, metric)| {
        Some((name, metric["best"]["value"].as_f64()?, metric["best"]["epoch"].as_u64()?))
    });
    let cards: Vec<_> = best
        .take(8)
        .map(|(name, value, epoch)| {
            let (name, value) = (escape(name), short(value));
            format!(
                "<div class=\"card\"><span>best {name}</span><b>{value}</b><span>in epoch {epoch}</span></div>"
            )
        })
        .collect();
    if !cards.is_empty() {
        _ = writeln!(out, "<div class=\"cards\">{}</div>", cards.join("\n"));
    }
}

fn charts(out: &mut String, charts: &[Chart], left_out: usize) {
    if charts.is_empty() {
        return;
    }
    out.push_str("<h2>Curves over iterations</h2>\n<div class=\"charts\">\n");
    for chart in charts {
        out.push_str(&chart.figure());
    }
    out.push_str("</div>\n");
    if left_out > 0 {
        _ = writeln!(out, "<p class=\"soft\">{left_out} more are in metrics.json.</p>");
    }
}

//! The manifest of a hook or metric: its description as JSON.

use crate::describe::Param;
use crate::hook::HookInfo;
use crate::metric::MetricInfo;
use crate::value::{write_json_items, write_json_text};
use std::fmt::Write as _;

fn begin(name: &str, doc: &str) -> String {
    let mut out = String::from("{\"name\":");
    write_json_text(name, &mut out);
    out.push_str(",\"doc\":");
    write_json_text(doc, &mut out);
    out
}

fn words(key: &str, text: &str, out: &mut String) {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty() && *word != "nothing");
    list(key, words, out);
}

fn list<'a>(key: &str, words: impl Iterator<Item = &'a str>, out: &mut String) {
    _ = write!(out, ",\"{key}\":");
    write_json_items('[', ']', words, out, write_json_text);
}

fn text(key: &str, text: &str, out: &mut String) {
    _ = write!(out, ",\"{key}\":");
    write_json_text(text, out);
}

fn end(params: Option<Vec<Param>>, mut out: String) -> String {
    if let Some(params) = params {
        out.push_str(",\"params\":");
        write_json_items('[', ']', params.iter(), &mut out, Param::write_json);
    }
    out.push('}');
    out
}

/// Makes a manifest, which evaluates the author's defaults: a panic in one must not leave the library. It returns the panic's message
/// instead, which the host refuses as a manifest.
pub fn guarded(make: impl FnOnce() -> String + std::panic::UnwindSafe) -> String {
    std::panic::catch_unwind(make)
        .unwrap_or_else(|payload| crate::panics::describe(payload.as_ref()))
}

/// The manifest of a hook.
pub fn of_hook<T: HookInfo>(name: &str) -> String {
    let mut out = begin(name, T::doc());
    out.push_str(",\"points\":");
    write_json_items('[', ']', T::POINTS.iter(), &mut out, |point, out| {
        write_json_text(point, out);
    });
    _ = write!(out, ",\"level\":{},\"state\":{}", T::LEVEL.0, T::HAS_STATE);
    if !T::EVERY.is_empty() {
        text("every", T::EVERY, &mut out);
    }
    if !T::RANKS.is_empty() {
        text("ranks", T::RANKS, &mut out);
    }
    words("aliases", T::ALIASES, &mut out);
    words("mutates", T::MUTATES, &mut out);
    words("reads", T::READS, &mut out);
    // `nothing` stays: such a hook logs no scalar, while one without `writes` may log any.
    list("writes", T::WRITES.split([',', ' ']).filter(|word| !word.is_empty()), &mut out);
    list("ops", T::ops().into_iter(), &mut out);
    text("on_error", T::ON_ERROR, &mut out);
    end(T::params(), out)
}

/// The manifest of a metric.
pub fn of_metric<T: MetricInfo>(name: &str) -> String {
    let mut out = begin(name, T::doc());
    text("better", T::BETTER, &mut out);
    text("unit", T::UNIT, &mut out);
    words("aliases", T::ALIASES, &mut out);
    list("ops", T::ops().into_iter(), &mut out);
    end(T::params(), out)
}

//! Draws errors: file, line, source line, caret, help.

use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::diagnose::Label;
use super::error::ConfigError;
use super::origin::{Document, DocumentKind, Origin};

/// Further errors are counted, not shown.
const MOST_SHOWN: usize = 20;

pub(super) fn render(errors: &[ConfigError], colored: bool) -> String {
    let renderer = if colored { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let shown = errors.iter().take(MOST_SHOWN).map(|error| renderer.render(&[group(error)]));
    let mut blocks: Vec<String> = shown.collect();
    if errors.len() > MOST_SHOWN {
        blocks.push(format!("error: {} more errors are not shown", errors.len() - MOST_SHOWN));
    }
    blocks.join("\n\n")
}

fn group(error: &ConfigError) -> Group<'_> {
    let labels = error.labels();
    let title = Level::ERROR.primary_title(printable(&error.to_string()));
    let mut group = Group::with_title(title);
    let mut rest = labels.as_slice();
    let mut kind = AnnotationKind::Primary;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|label| same_document(first, label)).count();
        let (here, elsewhere) = rest.split_at(same);
        group = with_labels(group, here, kind);
        kind = AnnotationKind::Context;
        rest = elsewhere;
    }
    for note in error.fault.notes() {
        group = group.element(Level::NOTE.message(printable(&note)));
    }
    match error.fault.help() {
        Some(help) => group.element(Level::HELP.message(printable(&help))),
        None => group,
    }
}

fn same_document(a: &Label<'_>, b: &Label<'_>) -> bool {
    match (a.origin.document(), b.origin.document()) {
        (Some(a), Some(b)) => std::sync::Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

/// Adds one snippet with every label of one document.
fn with_labels<'a>(group: Group<'a>, labels: &[Label<'a>], first: AnnotationKind) -> Group<'a> {
    let Some(Origin::Written { document, span }) = labels.first().map(|label| label.origin) else {
        return group;
    };
    if *span == (0..0) {
        return group.element(annotate_snippets::Origin::path(printable(&document.shown)));
    }
    let spans = labels.iter().filter_map(|label| span_in(document, label.origin));
    let window = window(&document.text, spans);
    let first_line = match document.kind {
        DocumentKind::File => document.line_of(window.start),
        // The second override is the second line of `-s`.
        DocumentKind::Override(number) => number,
    };
    let kinds = std::iter::once(first).chain(std::iter::repeat(AnnotationKind::Context));
    let annotations = labels
        .iter()
        .zip(kinds)
        .filter_map(|(label, kind)| annotation(document, label, kind, window.start));
    let snippet = Snippet::source(&document.text[window.clone()])
        .line_start(first_line)
        .path(printable(&document.shown));
    group.element(snippet.annotations(annotations))
}

/// The lines that contain the spans. The renderer scans everything it is given, and files may be long.
fn window(text: &str, spans: impl Iterator<Item = Range<usize>>) -> Range<usize> {
    let whole = spans.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0);
    let start = text[..whole.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[whole.end..].find('\n').map_or(text.len(), |at| whole.end + at);
    start..end
}

fn annotation<'a>(
    document: &Document,
    label: &Label<'a>,
    kind: AnnotationKind,
    offset: usize,
) -> Option<Annotation<'a>> {
    let span = span_in(document, label.origin)?;
    let annotation = kind.span(span.start - offset..span.end - offset);
    if label.text.is_empty() {
        return Some(annotation);
    }
    Some(annotation.label(printable(&label.text)))
}

/// The bytes of an origin, aligned to character boundaries of the text.
fn span_in(document: &Document, origin: &Origin) -> Option<Range<usize>> {
    let Origin::Written { span, .. } = origin else { return None };
    let end = boundary(&document.text, span.end);
    Some(boundary(&document.text, span.start.min(end))..end)
}

/// The last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Text from a file must not control the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

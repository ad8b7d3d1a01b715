//! Timelines of a schedule.

use crate::engine::schedule::{Span, Timeline};
use crate::train::Measured;
use hookrack_chart::{Bar, Timeline as Chart};
use serde_json::{Value as Json, json};

/// The file of a run with the last iteration of its pipeline.
pub(super) const PICTURE: &str = "pipeline.svg";

/// The widest drawing in a terminal.
const COLUMNS: usize = 158;

/// A line for each stage: `f` and `b` with the micro-batch, and its chunk if there are several. A time unit is as wide as the
/// longest name.
pub(super) fn text(timeline: &Timeline, chunks: u32) -> Vec<String> {
    let spans = || timeline.stages.iter().flatten();
    let unit = spans().map(|span| name(span, chunks).len()).max().unwrap_or(1) + 1;
    let mut lines: Vec<String> = timeline
        .stages
        .iter()
        .enumerate()
        .map(|(stage, spans)| {
            let head = format!("stage {stage:<4}");
            let line = spans.iter().fold(head.clone(), |mut line, span| {
                let start = head.len() + columns(span.start, unit);
                let end = head.len() + columns(span.end, unit) - 1;
                let fill = if span.is_backward { '-' } else { ' ' };
                line.extend(std::iter::repeat_n(' ', start.saturating_sub(line.len())));
                line.push_str(&name(span, chunks));
                line.extend(std::iter::repeat_n(fill, end.saturating_sub(line.len())));
                line
            });
            line.trim_end().to_owned()
        })
        .collect();
    if lines.iter().any(|line| line.len() > COLUMNS) {
        for line in &mut lines {
            line.truncate(COLUMNS);
        }
        lines.push("(truncated; --svg FILE draws the whole timeline)".to_owned());
    }
    lines
}

/// What a run's pipeline did, for `run.json`.
pub(super) fn record(measured: &Measured) -> Json {
    json!({
        "stages": measured.timeline.stages.len(),
        "bubble": measured.bubble,
        "planned_bubble": measured.planned_bubble,
        "peak_memory_bytes": measured.peak_memory,
        "live_micro_batches": measured.timeline.peak,
    })
}

/// The last iteration of a run's pipeline as an SVG file.
pub(super) fn picture(measured: &Measured) -> String {
    let stages = measured.timeline.stages.len();
    let title = format!(
        "the last iteration on {stages} stages, bubble {:.1} % over the run",
        100.0 * measured.bubble
    );
    drawing(&measured.timeline, &title, measured.chunks)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a picture"
)]
fn columns(time: f64, unit: usize) -> usize {
    (time * unit as f64).round() as usize
}

fn name(span: &Span, chunks: u32) -> String {
    let letter = if span.is_backward { 'b' } else { 'f' };
    let (micro, chunk) = (span.part.micro, span.part.chunk);
    if chunks > 1 { format!("{letter}{micro}.{chunk}") } else { format!("{letter}{micro}") }
}

/// The same as an SVG file: forward passes blue, backward passes green, paler in every second chunk.
pub(super) fn drawing(timeline: &Timeline, title: &str, chunks: u32) -> String {
    let bar = |span: &Span| Bar {
        start: span.start,
        end: span.end,
        color: usize::from(span.is_backward) + 2 * (span.part.chunk as usize % 2),
        label: if chunks > 1 {
            format!("{}.{}", span.part.micro, span.part.chunk)
        } else {
            span.part.micro.to_string()
        },
    };
    let rows = timeline.stages.iter().enumerate();
    let rows =
        rows.map(|(stage, spans)| (format!("stage {stage}"), spans.iter().map(bar).collect()));
    Chart { title, rows: rows.collect() }.file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::schedule::{Durations, Layout, OneFOneB, Table, simulate};

    fn timeline(stages: u32, micros: u32) -> Timeline {
        let table = Table::new(OneFOneB::ORDER, Layout { stages, micros, chunks: 1, tied: false });
        simulate(&table, &Durations::equal(&table.layout())).unwrap()
    }

    #[test]
    fn a_stage_is_a_line_in_which_time_goes_to_the_right() {
        let lines = text(&timeline(2, 3), 1);
        assert_eq!(
            lines,
            [
                "stage 0   f0 f1       b0--- f2 b1---    b2---",
                "stage 1      f0 b0--- f1 b1--- f2 b2---",
            ]
        );
    }

    #[test]
    fn a_long_drawing_is_cut_and_says_so() {
        let lines = text(&timeline(2, 100), 1);
        assert!(lines[..2].iter().all(|line| line.len() == COLUMNS));
        assert!(lines[2].contains("--svg"));
        let svg = drawing(&timeline(2, 100), "1F1B", 1);
        assert_eq!(svg.matches("class=\"bar\"").count(), 400);
    }
}

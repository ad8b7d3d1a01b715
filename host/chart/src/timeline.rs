//! Bars in rows along a common time, as SVG.

use crate::{escape, file};
use std::fmt::Write as _;

const ROW: f64 = 30.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 56.0;
const EDGE: f64 = 14.0;

/// The narrowest bar of a drawing, and the widest drawing.
const BAR: f64 = 26.0;
const WIDEST: f64 = 4000.0;

/// Colors of bars by kind: paler ones alternate, so that neighbors differ.
const BARS: &str = ".b0{fill:#54aeff}.b1{fill:#4ac26b}.b2{fill:#80ccff}.b3{fill:#6fdd8b}.bar text{fill:#0a0a0a;font-size:12px}";

/// A span of time in one row of the timeline.
#[derive(Clone, Debug)]
pub struct Bar {
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
    /// The number of its color, from 0 to 3.
    pub color: usize,
    /// What is written on it.
    pub label: String,
}

/// A drawing of rows of bars.
#[derive(Clone, Debug)]
pub struct Timeline<'a> {
    /// What it shows, for readers and screen readers.
    pub title: &'a str,
    /// The rows, each with its name.
    pub rows: Vec<(String, Vec<Bar>)>,
}

impl Timeline<'_> {
    /// The drawing as a file with its own styles.
    pub fn file(&self) -> String {
        let bars = || self.rows.iter().flat_map(|(_, bars)| bars);
        let end =
            bars().map(|bar| bar.end).reduce(f64::max).filter(|end| *end > 0.0).unwrap_or(1.0);
        let shortest = bars().map(|bar| bar.end - bar.start).fold(end, f64::min);
        let scale = (BAR / shortest.max(f64::MIN_POSITIVE)).min(WIDEST / end);
        #[expect(clippy::cast_precision_loss, reason = "a picture")]
        let height = TOP + ROW * self.rows.len() as f64 + EDGE;
        let width = LEFT + scale * end + EDGE;
        let mut out = String::new();
        let mut top = TOP;
        for (name, bars) in &self.rows {
            row(&mut out, name, bars, (top, scale));
            top += ROW;
        }
        file(self.title, (format!("{width:.1}"), height), EDGE, BARS, &out)
    }
}

fn row(out: &mut String, name: &str, bars: &[Bar], (top, scale): (f64, f64)) {
    let middle = top + ROW / 2.0 + 2.0;
    _ = writeln!(out, "<text x=\"{EDGE}\" y=\"{middle}\">{}</text>", escape(name));
    for bar in bars {
        let (left, width) = (LEFT + scale * bar.start, scale * (bar.end - bar.start));
        let (height, color, label) = (ROW - 6.0, bar.color, escape(&bar.label));
        let centre = left + width / 2.0;
        _ = writeln!(
            out,
            "<g class=\"bar\"><rect class=\"b{color}\" x=\"{left:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{height}\"/>\
             <text x=\"{centre:.1}\" y=\"{middle}\" text-anchor=\"middle\">{label}</text></g>",
            (width - 1.0).max(0.5)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_is_drawn_with_its_label_in_proportion() {
        let bar = |start, end, label: &str| Bar { start, end, color: 0, label: label.to_owned() };
        let rows = vec![
            ("stage 0".to_owned(), vec![bar(0.0, 1.0, "0"), bar(1.0, 3.0, "<1>")]),
            ("stage 1".to_owned(), Vec::new()),
        ];
        let svg = Timeline { title: "GPipe", rows }.file();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("class=\"b0\"").count(), 2);
        assert!(svg.contains("width=\"25.0\"") && svg.contains("width=\"51.0\""), "{svg}");
        assert!(svg.contains("&lt;1&gt;") && svg.contains("stage 1"));
    }

    #[test]
    fn a_drawing_without_bars_is_one_too() {
        let svg = Timeline { title: "nothing", rows: Vec::new() }.file();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

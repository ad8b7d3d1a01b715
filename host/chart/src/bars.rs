//! Groups of horizontal bars, each group with its own scale, as SVG.

use crate::{escape, file};
use std::fmt::Write as _;

const ROW: f64 = 22.0;
/// Room for a group's title, and below a group.
const HEAD: f64 = 30.0;
const GAP: f64 = 12.0;
const LEFT: f64 = 230.0;
const TOP: f64 = 44.0;
const EDGE: f64 = 14.0;
/// The longest bar, and room for the number behind it.
const LONGEST: f64 = 430.0;
const NUMBER: f64 = 110.0;

const BARS: &str = "svg{--other:#8c959f}@media(prefers-color-scheme:dark){svg{--other:#6e7681}}\
    .first{fill:var(--k)}.other{fill:var(--other)}.spread{stroke:var(--ink);stroke-width:1.5}.head{font-weight:600}";

/// A value with the half of all measurements around it.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// What it is of.
    pub name: String,
    /// The length of the bar.
    pub value: f64,
    /// Where the middle half of the measurements begins and ends.
    pub spread: (f64, f64),
    /// What is written behind the bar.
    pub label: String,
}

/// A drawing of bars in groups. The first bar of each group is drawn in color: the others are compared with it.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// What it shows, for readers and screen readers.
    pub title: &'a str,
    /// The groups, each with its title.
    pub groups: Vec<(String, Vec<Measurement>)>,
}

impl Bars<'_> {
    /// The drawing as a file with its own styles.
    pub fn file(&self) -> String {
        let width = LEFT + LONGEST + NUMBER + EDGE;
        let mut body = String::new();
        let mut top = TOP;
        for (name, bars) in &self.groups {
            top = group(&mut body, name, bars, top);
        }
        file(self.title, (width, top + EDGE), EDGE, BARS, &body)
    }
}

/// Draws a group below `top`, and returns where the next one begins.
fn group(out: &mut String, name: &str, bars: &[Measurement], top: f64) -> f64 {
    let finite = |value: f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
    let ends = bars.iter().map(|bar| finite(bar.value).max(finite(bar.spread.1)));
    let longest = ends.reduce(f64::max).filter(|end| *end > 0.0).unwrap_or(1.0);
    let scale = LONGEST / longest;
    _ = writeln!(
        out,
        "<text class=\"head\" x=\"{EDGE}\" y=\"{}\">{}</text>",
        top + 20.0,
        escape(name)
    );
    let mut y = top + HEAD;
    for (index, bar) in bars.iter().enumerate() {
        let class = if index == 0 { "first" } else { "other" };
        let [long, low, high] =
            [bar.value, bar.spread.0, bar.spread.1].map(|it| scale * finite(it));
        let (text, middle) = (y + 14.0, y + (ROW - 4.0) / 2.0);
        let behind = LEFT + long.max(high) + 8.0;
        _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{text:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"{}\"/>\
             <path class=\"spread\" d=\"M{:.1} {middle:.1}H{:.1}\"/>\
             <text x=\"{behind:.1}\" y=\"{text:.1}\">{}</text>",
            LEFT - 8.0,
            escape(&bar.name),
            ROW - 4.0,
            LEFT + low,
            LEFT + high,
            escape(&bar.label),
        );
        y += ROW;
    }
    y + GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, value: f64) -> Measurement {
        let spread = (0.9 * value, value);
        Measurement { name: name.to_owned(), value, spread, label: format!("{value} a second") }
    }

    #[test]
    fn bars_are_in_proportion_to_the_longest_of_their_group() {
        let groups = vec![
            ("small".to_owned(), vec![bar("<a>", 1.0), bar("b", 0.5)]),
            ("large".to_owned(), vec![bar("a", 1000.0), bar("b", 500.0)]),
        ];
        let svg = Bars { title: "speed", groups }.file();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        for (length, times) in
            [("width=\"430.0\"", 2), ("width=\"215.0\"", 2), ("class=\"first\"", 2)]
        {
            assert_eq!(svg.matches(length).count(), times, "{length} in {svg}");
        }
        assert!(svg.contains("&lt;a&gt;") && svg.contains("500 a second"));
        assert!(svg.contains("prefers-color-scheme:dark"));
    }

    #[test]
    fn a_value_that_is_missing_is_a_bar_without_length() {
        let groups =
            vec![("none".to_owned(), vec![bar("a", f64::NAN)]), ("empty".to_owned(), Vec::new())];
        let svg = Bars { title: "speed", groups }.file();
        assert!(svg.contains("width=\"0.0\""), "{svg}");
        assert!(!svg.contains("\"NaN") && !svg.contains("inf"), "{svg}");
    }
}

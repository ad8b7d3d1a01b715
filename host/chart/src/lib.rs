//! Line charts as SVG: inside a page that has the styles, or as a file that needs nothing else.

mod bars;
mod ticks;
mod timeline;

pub use bars::{Bars, Measurement};
pub use ticks::label;
pub use timeline::{Bar, Timeline};

use std::fmt::{Display, Write as _};
use ticks::{decades, ticks};

const RIGHT: f64 = 14.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;

/// Room for the name of an axis.
const NAME: f64 = 22.0;

/// Room for a title above the chart.
const TITLE: f64 = 34.0;

/// The size of a chart that is a file of its own.
const FILE: (f64, f64) = (800.0, 420.0);

/// Dark on white, or the reverse in dark mode.
const STYLE: &str = "\
svg{--ink:#24292f;--paper:#fff;--edge:#d0d7de;--soft:#57606a;--k:#0969da;--mark:#cf222e}\
@media(prefers-color-scheme:dark){svg{--ink:#e6edf3;--paper:#0d1117;--edge:#30363d;--soft:#8b949e;--k:#58a6ff;--mark:#f85149}}\
text{font:13px system-ui,sans-serif;fill:var(--ink)}.title{font-size:16px;font-weight:600}.paper{fill:var(--paper)}\
.grid{stroke:var(--edge);fill:none}.axis{stroke:var(--soft);fill:none}.mark{stroke:var(--mark);stroke-dasharray:4 3}\
.curve{fill:none;stroke:var(--k);stroke-width:2;stroke-linejoin:round}.raw{fill:none;stroke:var(--soft);opacity:.6}.dot{fill:var(--k)}";

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Linear, with ticks at integers only: the axis counts something.
    Whole,
    /// Logarithmic; all values must be above 0.
    Log,
}

/// One axis of a chart.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// What it shows; empty for no name.
    pub name: &'a str,
    /// The values at both ends, the second above the first.
    pub range: (f64, f64),
    /// How values lie along it.
    pub scale: Scale,
}

/// One line of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// `curve`, or `raw` for a pale one.
    pub class: &'static str,
    /// The number of its colour on a page with several.
    pub colour: usize,
    /// Its points. One that is not finite is a gap; one beyond the axes is drawn at their edge.
    pub points: Vec<(f64, f64)>,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// What it shows, for readers and screen readers.
    pub title: &'a str,
    /// The horizontal axis.
    pub x: Axis<'a>,
    /// The vertical axis.
    pub y: Axis<'a>,
    /// The lines, each drawn over those before.
    pub lines: Vec<Line>,
    /// Dashed vertical lines.
    pub marks: Vec<f64>,
    /// Whether a dashed line goes from the lower left to the upper right.
    pub diagonal: bool,
}

/// A drawing as a file of its own: title, styles and paper, before what is drawn on it.
fn file(
    title: &str,
    (width, height): (impl Display, f64),
    left: f64,
    style: &str,
    body: &str,
) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{title}</title>\n<style>{STYLE}{style}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"{left}\" y=\"28\">{title}</text>\n{body}</svg>\n"
    )
}

/// Escapes markup.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}

/// The range of some numbers with a margin at both ends, even if all are equal; `None` if none is finite.
pub fn range(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = numbers.filter(|number| number.is_finite());
    let found = finite.fold(None, |range: Option<(f64, f64)>, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((low.min(number), high.max(number)))
    });
    found.map(|(low, high)| {
        let room = match (high > low, low == 0.0) {
            (true, _) => (high - low) * 0.04,
            // Around the number: a constant learning rate of 0.001 is not drawn as if it were 0.
            (false, false) => low.abs() * 0.1,
            (false, true) => 0.1,
        };
        (low - room, high + room)
    })
}

impl Axis<'_> {
    /// How far along the axis a value is, from 0 to 1.
    fn part(&self, value: f64) -> f64 {
        let place = |value: f64| if self.scale == Scale::Log { value.log10() } else { value };
        let (start, end) = (place(self.range.0), place(self.range.1));
        ((place(value) - start) / (end - start)).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let (start, end) = self.range;
        let values = match self.scale {
            Scale::Log => return decades(start, end),
            scale => ticks(start, end, scale == Scale::Whole),
        };
        values.into_iter().map(|tick| (tick, label(tick))).collect()
    }
}

/// The edges of the area that the lines are in.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    floor: f64,
}

impl Chart<'_> {
    /// The chart as an element of a page, whose style sheet has the classes: `grid`, `axis`, `curve`, `raw`, `dot`, and
    /// `c0` and so on for the colours.
    pub fn element(&self, (width, height): (f64, f64)) -> String {
        let title = escape(self.title);
        let head =
            format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\"><title>{title}</title>");
        self.drawn(head, (width, height), TOP) + "</svg>"
    }

    /// The chart as a file with its title and its own styles.
    pub fn file(&self) -> String {
        let body = self.drawn(String::new(), FILE, TOP + TITLE) + "\n";
        file(self.title, FILE, LEFT, "", &body)
    }

    fn drawn(&self, mut out: String, (width, height): (f64, f64), top: f64) -> String {
        let room = |axis: &Axis<'_>| if axis.name.is_empty() { 0.0 } else { NAME };
        let area = Area {
            left: LEFT + room(&self.y),
            right: width - RIGHT,
            top,
            floor: height - BOTTOM - room(&self.x),
        };
        self.horizontal_axis(&mut out, &area);
        self.vertical_axis(&mut out, &area);
        let Area { left, right, top, floor } = area;
        if self.diagonal {
            _ = write!(
                out,
                "<path class=\"axis\" stroke-dasharray=\"4 3\" d=\"M{left} {floor}L{right} {top}\"/>"
            );
        }
        for line in &self.lines {
            self.line(&mut out, &area, line);
        }
        for mark in &self.marks {
            let at = area.x(&self.x, *mark);
            _ = write!(out, "<path class=\"mark\" d=\"M{at:.1} {top}V{floor}\"/>");
        }
        out
    }

    fn vertical_axis(&self, out: &mut String, area: &Area) {
        let Area { left, right, top, floor } = area;
        for (tick, text) in self.y.ticks() {
            let at = area.y(&self.y, tick);
            _ = write!(
                out,
                "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                left - 6.0,
                at + 4.0
            );
        }
        _ = write!(out, "<path class=\"axis\" d=\"M{left} {top}V{floor}H{right}\"/>");
        if !self.y.name.is_empty() {
            let (middle, name) = (f64::midpoint(*top, *floor), escape(self.y.name));
            _ = write!(
                out,
                "<text transform=\"translate(16 {middle}) rotate(-90)\" text-anchor=\"middle\">{name}</text>"
            );
        }
    }

    fn horizontal_axis(&self, out: &mut String, area: &Area) {
        let Area { left, right, floor, .. } = area;
        for (tick, text) in self.x.ticks() {
            let at = area.x(&self.x, tick);
            _ = write!(
                out,
                "<path class=\"axis\" d=\"M{at:.1} {floor}v4\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
                floor + 18.0
            );
        }
        if !self.x.name.is_empty() {
            let (middle, name) = (f64::midpoint(*left, *right), escape(self.x.name));
            _ = write!(
                out,
                "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
                floor + 18.0 + NAME
            );
        }
    }

    /// A line with its gaps; a point between two gaps is a dot.
    fn line(&self, out: &mut String, area: &Area, line: &Line) {
        let Line { class, colour, points } = line;
        let is_gap = |(x, y): &(f64, f64)| !x.is_finite() || !y.is_finite();
        let place = |(x, y): &(f64, f64)| (area.x(&self.x, *x), area.y(&self.y, *y));
        for stretch in points.split(is_gap).filter(|stretch| !stretch.is_empty()) {
            if let [alone] = stretch {
                let (cx, cy) = place(alone);
                _ = write!(
                    out,
                    "<circle class=\"dot c{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3\"/>"
                );
                continue;
            }
            let places = stretch.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}"));
            let places = places.collect::<Vec<_>>().join(" ");
            _ = write!(out, "<polyline class=\"{class} c{colour}\" points=\"{places}\"/>");
        }
    }
}

impl Area {
    fn x(&self, axis: &Axis<'_>, value: f64) -> f64 {
        self.left + axis.part(value) * (self.right - self.left)
    }

    fn y(&self, axis: &Axis<'_>, value: f64) -> f64 {
        self.floor - axis.part(value) * (self.floor - self.top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>, x: Scale) -> Chart<'static> {
        let axis = |name, range, scale| Axis { name, range, scale };
        Chart {
            title: "loss & more",
            x: axis("rate", (1e-4, 1.0), x),
            y: axis("", (0.0, 2.0), Scale::Linear),
            lines: vec![Line { class: "curve", colour: 1, points }],
            marks: Vec::new(),
            diagonal: false,
        }
    }

    #[test]
    fn a_file_has_its_styles_and_an_element_leaves_them_to_the_page() {
        let chart = chart(vec![(1e-4, 1.0), (1.0, 2.0)], Scale::Log);
        let (file, element) = (chart.file(), chart.element((560.0, 260.0)));
        assert!(file.starts_with("<svg xmlns") && file.ends_with("</svg>\n"));
        assert!(file.contains("prefers-color-scheme:dark") && !element.contains("<style>"));
        for svg in [file, element] {
            assert!(
                svg.contains("<title>loss &amp; more</title>") && svg.contains(">rate<"),
                "{svg}"
            );
            assert!(svg.contains(">1e-2<"), "a tick for each decade: {svg}");
        }
    }

    #[test]
    fn a_gap_splits_a_line_a_point_alone_is_a_dot_and_what_is_beyond_is_at_the_edge() {
        let points = vec![(0.1, 1.0), (0.2, 9.0), (0.3, f64::NAN), (0.4, 1.0)];
        let svg = chart(points, Scale::Linear).element((200.0, 100.0));
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (1, 1));
        assert!(svg.contains(&format!(",{TOP:.1}\"/>")), "the top edge: {svg}");
        assert!(!svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn equal_numbers_have_a_range_and_no_numbers_have_none() {
        assert_eq!(range([0.0, f64::NAN].into_iter()), Some((-0.1, 0.1)));
        assert_eq!(range([-0.5, -0.5].into_iter()), Some((-0.55, -0.45)));
        assert_eq!(range([f64::NAN].into_iter()), None);
    }
}

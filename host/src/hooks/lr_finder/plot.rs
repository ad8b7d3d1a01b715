//! The curve of a learning rate test as an SVG that needs nothing else.

use super::curve::{Curve, Point};
use std::fmt::Write as _;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;

const STYLE: &str = "\
text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:16px;font-weight:600}.paper{fill:#fff}\
.grid{stroke:#d0d7de}.raw{fill:none;stroke:#8c959f;stroke-opacity:.6}\
.smooth{fill:none;stroke:#0969da;stroke-width:2}.mark{stroke:#cf222e;stroke-dasharray:4 3}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.grid{stroke:#30363d}.smooth{stroke:#58a6ff}}";

/// Where values lie on the paper: rates on a logarithmic axis.
struct Scale {
    x: (f64, f64),
    y: (f64, f64),
}

impl Scale {
    fn of(points: &[Point]) -> Self {
        let finite = points.iter().map(|point| point.smooth).filter(|loss| loss.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), loss| {
            (low.min(loss), high.max(loss))
        });
        let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
        let room = (high - low) * 0.05;
        let rate = |point: Option<&Point>| point.map_or(0.0, |point| point.lr.log10());
        let (first, last) = (rate(points.first()), rate(points.last()));
        Self { x: (first, last.max(first + 1e-9)), y: (low - room, high + room) }
    }

    fn x(&self, lr: f64) -> f64 {
        LEFT + (lr.log10() - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }

    /// What lies above the paper is drawn at its edge.
    fn y(&self, loss: f64) -> f64 {
        let part = ((loss - self.y.0) / (self.y.1 - self.y.0)).clamp(0.0, 1.0);
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    }
}

fn line(class: &str, points: &[Point], scale: &Scale, loss: impl Fn(&Point) -> f64) -> String {
    let mut path = String::new();
    for point in points.iter().filter(|point| loss(point).is_finite()) {
        _ = write!(path, "{:.1},{:.1} ", scale.x(point.lr), scale.y(loss(point)));
    }
    format!("<polyline class=\"{class}\" points=\"{}\"/>\n", path.trim_end())
}

fn grid(scale: &Scale) -> String {
    let mut out = String::new();
    for step in 0..=4 {
        let loss = scale.y.0 + (scale.y.1 - scale.y.0) * f64::from(step) / 4.0;
        let y = scale.y(loss);
        _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{loss:.3}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0
        );
    }
    let mut exponent = scale.x.0.ceil();
    while exponent <= scale.x.1 {
        let x = scale.x(10f64.powf(exponent));
        _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{}\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">1e{exponent:.0}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 20.0
        );
        exponent += 1.0;
    }
    out
}

/// The picture.
pub(super) fn svg(curve: &Curve, suggestion: Option<f64>) -> String {
    let points = curve.points();
    let scale = Scale::of(points);
    let title = suggestion.map_or("no rate at which the loss falls".to_owned(), |lr| {
        format!("the loss falls fastest at a learning rate of {lr:.2e}")
    });
    let mark = suggestion.map_or(String::new(), |lr| {
        let x = scale.x(lr);
        format!(
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{}\"/>\n",
            HEIGHT - BOTTOM
        )
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"28\">{title}</text>\n{}{}{}{mark}\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">learning rate</text>\n</svg>\n",
        grid(&scale),
        line("raw", points, &scale, |point| point.loss),
        line("smooth", points, &scale, |point| point.smooth),
        WIDTH / 2.0,
        HEIGHT - 14.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_lies_on_the_paper() {
        let mut curve = Curve::default();
        for (lr, loss) in [(1e-5, 2.0), (1e-4, 1.5), (1e-3, 90.0), (1e-2, f64::NAN)] {
            curve.push(lr, loss);
        }
        let svg = svg(&curve, Some(1e-4));
        let numbers = svg.split("points=\"").skip(1).flat_map(|part| {
            part.split('"').next().unwrap_or_default().split([' ', ',']).map(str::to_owned)
        });
        let numbers: Vec<f64> = numbers.map(|n| n.parse().unwrap()).collect();
        assert_eq!(numbers.len(), 12, "{svg}");
        for pair in numbers.chunks(2) {
            assert!(
                (0.0..=WIDTH).contains(&pair[0]) && (0.0..=HEIGHT).contains(&pair[1]),
                "{pair:?}"
            );
        }
        assert!(svg.contains("1.00e-4") && svg.contains("class=\"mark\""));
    }
}

//! A cost as a function of a size: its points, its slope, a table and a chart.

use hookrack_chart::{Axis, Chart, Line, Scale};
use std::fmt::Write as _;

/// A cost that grows with something.
pub(super) struct Curve {
    /// The name of its picture.
    pub(super) file: &'static str,
    pub(super) title: &'static str,
    /// What grows, in the plural.
    pub(super) what: &'static str,
    /// What is measured.
    pub(super) unit: &'static str,
    /// Several costs of the same kind, by name.
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
    /// What a reader should know about it.
    pub(super) note: String,
}

impl Curve {
    /// Whether nothing could be measured.
    pub(super) fn is_empty(&self) -> bool {
        self.series.iter().all(|(_, points)| points.is_empty())
    }

    /// A heading, a picture if there is one, a table, the slopes and the note.
    pub(super) fn markdown(&self, picture: &str) -> String {
        let mut out = format!("## {}\n\n", self.title);
        if !picture.is_empty() {
            let _ = writeln!(out, "![{}]({picture})\n", self.title);
        }
        let names: Vec<_> = self.series.iter().map(|(name, _)| name.as_str()).collect();
        let _ = writeln!(out, "| {} | {} |", self.what, names.join(" | "));
        let _ = writeln!(out, "|---|{}", "---|".repeat(names.len()));
        for (index, (x, _)) in self.series[0].1.iter().enumerate() {
            let values = self.series.iter().map(|(_, points)| number(points[index].1));
            let values = values.collect::<Vec<_>>().join(" | ");
            let _ = writeln!(out, "| {} | {values} |", count(*x));
        }
        let slopes = self
            .series
            .iter()
            .map(|(name, points)| format!("{name} {}", per(slope(points), self.unit, self.what)));
        let _ = writeln!(
            out,
            "\nIn {}. Slope: {}. {}",
            self.unit,
            slopes.collect::<Vec<_>>().join(", "),
            self.note
        );
        out
    }

    /// A picture with logarithmic axes.
    pub(super) fn picture(&self) -> String {
        // Neither axis has a place for 0.
        let drawn = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            points.iter().copied().filter(|(x, y)| *x > 0.0 && *y > 0.0).collect()
        };
        let all: Vec<_> = self.series.iter().flat_map(|(_, points)| drawn(points)).collect();
        let range = |of: fn(&(f64, f64)) -> f64| {
            let low = all.iter().map(of).fold(f64::INFINITY, f64::min);
            let high = all.iter().map(of).fold(0.0, f64::max);
            (low / 1.3, high * 1.3)
        };
        let names: Vec<_> = self.series.iter().map(|(name, _)| name.as_str()).collect();
        let title = format!("{} ({})", self.title, names.join(", "));
        let classes = ["curve"].into_iter().chain(std::iter::repeat("raw"));
        let lines = self.series.iter().zip(classes).enumerate().map(|(color, (it, class))| Line {
            class,
            color,
            points: drawn(&it.1),
        });
        Chart {
            title: &title,
            x: Axis { name: self.what, range: range(|point| point.0), scale: Scale::Log },
            y: Axis { name: self.unit, range: range(|point| point.1), scale: Scale::Log },
            lines: lines.collect(),
            marks: Vec::new(),
            diagonal: false,
        }
        .file()
    }
}

/// The slope of the straight line with the least squares.
#[expect(clippy::cast_precision_loss, reason = "a curve has few points")]
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mid_x, mid_y) = (mean(|point| point.0), mean(|point| point.1));
    let rise: f64 = points.iter().map(|(x, y)| (x - mid_x) * (y - mid_y)).sum();
    let run: f64 = points.iter().map(|(x, _)| (x - mid_x).powi(2)).sum();
    rise / run
}

/// A slope for one of what grows, or for as many as give a number that is easy to read.
fn per(slope: f64, unit: &str, what: &str) -> String {
    const STEPS: [(f64, &str); 4] =
        [(1.0, ""), (1e3, "thousand "), (1e6, "million "), (1e9, "billion ")];
    let readable = STEPS.into_iter().find(|(step, _)| (slope * step).abs() >= 0.01);
    match readable {
        Some((1.0, _)) => format!("{} {unit} per {}", number(slope), what.trim_end_matches('s')),
        Some((step, name)) => format!("{} {unit} per {name}{what}", number(slope * step)),
        None => format!("0 {unit}"),
    }
}

/// A count: `300`, `10 k`, `3 M`, `1 G`.
fn count(value: f64) -> String {
    match value {
        1e9.. => format!("{} G", value / 1e9),
        1e6.. => format!("{} M", value / 1e6),
        1e4.. => format!("{} k", value / 1e3),
        _ => value.to_string(),
    }
}

/// Three or four digits.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{value:.0e}"),
        size if size >= 100.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_line_is_its_slope() {
        let points: Vec<_> = [0.0, 1.0, 10.0, 50.0].map(|x| (x, 3.0 + 0.25 * x)).into();
        assert!((slope(&points) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_curve_is_a_table_and_a_picture() {
        let series = vec![("built in".to_owned(), vec![(0.0, 1.0), (10.0, 21.0)])];
        let (title, what, unit) = ("Hooks", "hooks", "ns");
        let curve = Curve { file: "hooks", title, what, unit, series, note: String::new() };
        let page = curve.markdown("img/x.svg");
        assert!(
            page.contains("| hooks | built in |\n|---|---|\n| 0 | 1.00 |\n| 10 | 21.00 |"),
            "{page}"
        );
        assert!(page.contains("built in 2.00 ns per hook"), "{page}");
        assert!(curve.picture().starts_with("<svg"));
    }

    #[test]
    fn counts_and_slopes_are_easy_to_read() {
        assert_eq!(
            [1.0, 1000.0, 10_000.0, 3e6, 1e9].map(count),
            ["1", "1000", "10 k", "3 M", "1 G"]
        );
        assert_eq!(per(4.66e-7, "ms", "parameters"), "0.4660 ms per million parameters");
        assert_eq!(per(-1e-12, "µs", "samples"), "0 µs");
    }
}

//! Scalars over iterations, as a figure of the page.

use hookrack_chart::{Axis, Line, Scale, escape, label, range};
use std::fmt::Write as _;

const SIZE: (f64, f64) = (560.0, 260.0);

/// The maximum number of points: more than there are pixels would be wasted.
const MOST_POINTS: usize = 600;

/// A curve.
pub(super) struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Iterations and values.
    pub points: Vec<(u64, f64)>,
}

/// Curves that share their axes.
pub(super) struct Chart {
    pub title: String,
    pub curves: Vec<Curve>,
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn real(number: u64) -> f64 {
    number as f64
}

/// Curves with fewer points are not smoothed.
const FEW: usize = 60;

/// The number of values on each side that a median is taken over.
const REACH: usize = 10;

/// The running median of a noisy curve; NaN stays NaN.
fn smoothed(points: &[(u64, f64)]) -> Option<Vec<(u64, f64)>> {
    let median = |middle: usize| {
        if !points[middle].1.is_finite() {
            return f64::NAN;
        }
        let around = middle.saturating_sub(REACH)..(middle + REACH + 1).min(points.len());
        let mut values: Vec<_> = points[around]
            .iter()
            .map(|(_, value)| *value)
            .filter(|value| value.is_finite())
            .collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let medians = points.iter().enumerate().map(|(index, (iter, _))| (*iter, median(index)));
    (points.len() > FEW).then(|| medians.collect())
}

/// Every n-th point, including the last.
fn thinned(points: &[(u64, f64)]) -> impl Iterator<Item = (u64, f64)> {
    let gap = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    points.iter().enumerate().filter(move |(i, _)| i % gap == 0 || *i == last).map(|(_, p)| *p)
}

impl Chart {
    /// Whether there is anything to draw.
    pub(super) fn is_empty(&self) -> bool {
        !self.curves.iter().flat_map(|curve| &curve.points).any(|(_, value)| value.is_finite())
    }

    /// A figure with title, legend and picture.
    pub(super) fn figure(&self) -> String {
        let mut out = format!("<figure><figcaption><b>{}</b>", escape(&self.title));
        for (index, curve) in self.curves.iter().enumerate() {
            let last = curve.points.last().map_or(f64::NAN, |(_, value)| *value);
            let name = escape(&curve.name);
            _ = write!(out, "<span class=\"key c{}\">{name} {}</span>", index % 6, short(last));
        }
        if self.curves.iter().any(|curve| curve.points.len() > FEW) {
            let window = 2 * REACH + 1;
            _ = write!(
                out,
                "<span class=\"soft\">bold: median of {window} values; pale: raw values</span>"
            );
        }
        out.push_str("</figcaption>");
        out.push_str(&self.svg());
        out.push_str("</figure>\n");
        out
    }

    fn svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let iters = points().map(|(iter, _)| real(*iter));
        let first = iters.clone().fold(f64::INFINITY, f64::min);
        let last = iters.fold(first + 1.0, f64::max);
        let Some(values) = range(points().map(|(_, value)| *value)) else { return String::new() };
        let chart = hookrack_chart::Chart {
            title: &self.title,
            x: Axis { name: "", range: (first, last), scale: Scale::Whole },
            y: Axis { name: "", range: values, scale: Scale::Linear },
            lines: self
                .curves
                .iter()
                .enumerate()
                .flat_map(|(i, curve)| curve.lines(i % 6))
                .collect(),
            marks: Vec::new(),
            diagonal: false,
        };
        chart.element(SIZE)
    }
}

impl Curve {
    /// The values, and their medians on top if there are many.
    fn lines(&self, color: usize) -> Vec<Line> {
        let line = |class, points: &[(u64, f64)]| {
            let points = thinned(points).map(|(iter, value)| (real(iter), value)).collect();
            Line { class, color, points }
        };
        match smoothed(&self.points) {
            Some(medians) => vec![line("raw", &self.points), line("curve", &medians)],
            None => vec![line("curve", &self.points)],
        }
    }
}

/// A number with the digits it needs.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => value.to_string(),
        0.0 => "0".to_owned(),
        size if !(1e-3..1e6).contains(&size) => format!("{value:.3e}"),
        _ => label((value * 1e4).round() / 1e4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(u64, f64)>) -> Chart {
        let curves = vec![Curve { name: "train <b>".to_owned(), points }];
        Chart { title: "loss & more".to_owned(), curves }
    }

    #[test]
    fn a_figure_has_its_title_names_and_a_curve_within_the_picture() {
        let figure =
            chart((1..=5000u32).map(|iter| (iter.into(), 1.0 / f64::from(iter))).collect())
                .figure();
        assert!(figure.contains("loss &amp; more") && figure.contains("train &lt;b&gt;"));
        let places = figure.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let places: Vec<(f64, f64)> = places
            .split(' ')
            .map(|place| place.split_once(',').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert!(places.len() <= MOST_POINTS + 1, "{}", places.len());
        assert!(places.iter().all(|(x, y)| (0.0..SIZE.0).contains(x) && (0.0..SIZE.1).contains(y)));
        let right = places.iter().map(|(x, _)| *x).fold(0.0, f64::max);
        assert!((places[places.len() - 1].0 - right).abs() < 0.1, "the last is drawn");
        assert!(right > SIZE.0 - 20.0, "{right}");
    }

    #[test]
    fn a_nan_is_a_gap_and_a_value_alone_is_a_dot() {
        let figure = chart(vec![(1, 1.0), (2, 2.0), (3, f64::NAN), (4, 2.0)]).figure();
        assert_eq!(figure.matches("<polyline").count(), 1);
        assert_eq!(figure.matches("<circle").count(), 1);
        assert!(!figure.contains("NaN"), "{figure}");
        assert!(chart(vec![(1, f64::NAN)]).is_empty());
    }

    #[test]
    fn a_long_curve_has_its_values_and_their_medians_and_says_which_are_which() {
        let noisy = |iter: u32| (u64::from(iter), if iter.is_multiple_of(5) { 9.0 } else { 1.0 });
        let mut points: Vec<_> = (1..=100).map(noisy).collect();
        points[50].1 = f64::NAN;
        let medians = smoothed(&points).unwrap();
        let is_one =
            |(at, (_, value)): (usize, &(u64, f64))| at == 50 || (*value - 1.0).abs() < 1e-12;
        assert!(medians.iter().enumerate().all(is_one), "{medians:?}");
        assert!(medians[50].1.is_nan());
        assert!(smoothed(&points[..FEW]).is_none());
        let figure = chart(points).figure();
        assert!(figure.contains("bold: median of 21 values; pale: raw values"), "{figure}");
        assert!(figure.contains("class=\"raw c0\"") && figure.contains("class=\"curve c0\""));
        assert!(!chart(vec![(1, 1.0), (2, 2.0)]).figure().contains("median"));
    }

    #[test]
    fn equal_values_have_an_axis_too() {
        let figure = chart(vec![(1, 0.0), (2, 0.0)]).figure();
        assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
    }
}

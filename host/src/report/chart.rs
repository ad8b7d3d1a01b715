//! Curves over iterations as an SVG that needs nothing else.

use super::escape;
use super::ticks::{label, ticks};
use std::fmt::Write as _;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;

/// More points than pixels are of no use.
const MOST_POINTS: usize = 600;

/// A curve.
pub(super) struct Curve {
    /// What it is called in the legend.
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

/// The smallest and the largest of some numbers, apart even where they are the same.
fn range(numbers: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = numbers.filter(|number| number.is_finite());
    let found = finite.fold(None, |range: Option<(f64, f64)>, number| {
        let (low, high) = range.unwrap_or((number, number));
        Some((low.min(number), high.max(number)))
    });
    found.map(|(low, high)| {
        let room = if high > low { (high - low) * 0.04 } else { low.abs().max(1.0) * 0.1 };
        (low - room, high + room)
    })
}

/// Fewer points than these are shown as they are.
const FEW: usize = 60;

/// How many values on each side a median is taken over.
const REACH: usize = 10;

/// The medians around each point, for a curve that would hide its course behind noise; what is not a number stays so.
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

/// Every so many points, the last among them.
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
                "<span class=\"soft\">strong: median of {window} values; pale: the values</span>"
            );
        }
        out.push_str("</figcaption>");
        self.draw(&mut out);
        out.push_str("</figure>\n");
        out
    }

    fn draw(&self, out: &mut String) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let iters = points().map(|(iter, _)| real(*iter));
        let first = iters.clone().fold(f64::INFINITY, f64::min);
        let last = iters.fold(first + 1.0, f64::max);
        let Some((low, high)) = range(points().map(|(_, value)| *value)) else { return };
        let x = |iter: f64| LEFT + (iter - first) / (last - first) * (WIDTH - LEFT - RIGHT);
        let y =
            |value: f64| HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
        let title = escape(&self.title);
        _ = write!(
            out,
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{title}</title>"
        );
        axes(out, (first, last, &x), (low, high, &y));
        for (index, curve) in self.curves.iter().enumerate() {
            match smoothed(&curve.points) {
                Some(medians) => {
                    line(out, &curve.points, ("raw", index % 6), &x, &y);
                    line(out, &medians, ("curve", index % 6), &x, &y);
                }
                None => line(out, &curve.points, ("curve", index % 6), &x, &y),
            }
        }
        out.push_str("</svg>");
    }
}

fn axes(
    out: &mut String,
    (first, last, x): (f64, f64, &impl Fn(f64) -> f64),
    (low, high, y): (f64, f64, &impl Fn(f64) -> f64),
) {
    let (end, floor) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for tick in ticks(low, high, false) {
        let (at, text) = (y(tick), label(tick));
        _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{end}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for tick in ticks(first, last, true) {
        let (at, text) = (x(tick), label(tick));
        _ = write!(
            out,
            "<path class=\"axis\" d=\"M{at:.1} {floor}v4\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>",
            floor + 18.0
        );
    }
    _ = write!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{floor}H{end}\"/>");
}

/// A curve, with gaps where a value is not a number; one that stands alone is a dot.
fn line(
    out: &mut String,
    points: &[(u64, f64)],
    (class, colour): (&str, usize),
    x: &impl Fn(f64) -> f64,
    y: &impl Fn(f64) -> f64,
) {
    let thinned: Vec<_> = thinned(points).collect();
    for stretch in thinned.split(|(_, value)| !value.is_finite()).filter(|part| !part.is_empty()) {
        let place = |(iter, value): &(u64, f64)| format!("{:.1},{:.1}", x(real(*iter)), y(*value));
        if let [alone] = stretch {
            let (cx, cy) = (x(real(alone.0)), y(alone.1));
            _ = write!(
                out,
                "<circle class=\"dot c{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3\"/>"
            );
        } else {
            let places: Vec<_> = stretch.iter().map(place).collect();
            let places = places.join(" ");
            _ = write!(out, "<polyline class=\"{class} c{colour}\" points=\"{places}\"/>");
        }
    }
}

/// A number in as few digits as say it.
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
        assert!(
            places.iter().all(|(x, y)| (LEFT..=WIDTH).contains(x) && (TOP..=HEIGHT).contains(y))
        );
        assert!((places[places.len() - 1].0 - (WIDTH - RIGHT)).abs() < 0.1, "the last is drawn");
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
        assert!(figure.contains("strong: median of 21 values; pale: the values"), "{figure}");
        assert!(figure.contains("class=\"raw c0\"") && figure.contains("class=\"curve c0\""));
        assert!(!chart(vec![(1, 1.0), (2, 2.0)]).figure().contains("median"));
    }

    #[test]
    fn equal_values_have_an_axis_too() {
        let figure = chart(vec![(1, 0.0), (2, 0.0)]).figure();
        assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
    }
}

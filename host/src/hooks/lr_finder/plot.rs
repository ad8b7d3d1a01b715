//! The curve of a learning rate test as a self-contained SVG.

use super::curve::{Curve, Point};
use hookrack_chart::{Axis, Chart, Line, Scale, range};

/// The picture.
pub(super) fn svg(curve: &Curve, suggestion: Option<f64>) -> String {
    let points = curve.points();
    let title = suggestion.map_or("no rate at which the loss falls".to_owned(), |lr| {
        format!("the loss falls fastest at a learning rate of {lr:.2e}")
    });
    let rate = |point: Option<&Point>| point.map_or(1.0, |point| point.lr);
    let (first, last) = (rate(points.first()), rate(points.last()));
    let losses = range(points.iter().map(|point| point.smooth)).unwrap_or((0.0, 1.0));
    let line = |class, loss: fn(&Point) -> f64| Line {
        class,
        color: 0,
        points: points.iter().map(|point| (point.lr, loss(point))).collect(),
    };
    let chart = Chart {
        title: &title,
        x: Axis {
            name: "learning rate",
            range: (first, last.max(first * 1.001)),
            scale: Scale::Log,
        },
        y: Axis { name: "loss", range: losses, scale: Scale::Linear },
        lines: vec![line("raw", |point| point.loss), line("curve", |point| point.smooth)],
        marks: suggestion.into_iter().collect(),
        diagonal: false,
    };
    chart.file()
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
                (0.0..=800.0).contains(&pair[0]) && (0.0..=420.0).contains(&pair[1]),
                "{pair:?}"
            );
        }
        assert!(svg.contains("1.00e-4") && svg.contains("class=\"mark\""));
    }
}

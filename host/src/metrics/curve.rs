//! Curves in the unit square, one for each class: as a picture for TensorBoard, and as a file that the report draws.

use super::kept_scores::Ranking;
use hookrack_plugin_api::prelude::*;
use std::fmt::Write as _;

/// The folder of the run directory that the files go to; the report looks there.
const FOLDER: &str = "curves";
/// The maximum number of curves in one picture.
const MOST_CURVES: usize = 10;
/// The maximum number of points: more than there are pixels would be wasted.
const MOST_POINTS: usize = 512;
/// The side of a picture, and its margin.
const SIDE: usize = 320;
const MARGIN: usize = 12;

/// The points of a class: x and y from 0 to 1, from the best score to the worst.
pub(super) type Points = Vec<(f64, f64)>;

/// What the axes say.
pub(super) struct Axes {
    pub(super) x: &'static str,
    pub(super) y: &'static str,
    /// Whether random guessing is the diagonal.
    pub(super) diagonal: bool,
}

/// The curves of a pass, one for each class that has one.
pub(super) struct Curves {
    curves: Vec<(usize, Points)>,
    left_out: usize,
}

impl Curves {
    /// The curves of the first classes that have one, with as many points as a picture shows. With two classes, the curve is
    /// that of class 1.
    pub(super) fn new(
        rankings: &[Ranking],
        points: impl Fn(&[(f64, bool)]) -> Option<Points>,
    ) -> Self {
        let first = usize::from(rankings.len() == 1);
        let all = rankings.iter().enumerate();
        let mut curves: Vec<_> =
            all.filter_map(|(class, ranking)| Some((class + first, points(ranking)?))).collect();
        let left_out = curves.len().saturating_sub(MOST_CURVES);
        curves.truncate(MOST_CURVES);
        for (_, points) in &mut curves {
            *points = thinned(points);
        }
        Self { curves, left_out }
    }

    /// Writes them: a picture if a writer accepts one, and a file if the run has a directory. There is nothing to
    /// write if no class has a curve.
    pub(super) fn show(&self, t: &mut Trainer, axes: &Axes) -> Result<()> {
        if self.curves.is_empty() {
            return Ok(());
        }
        let name = t.instance().to_owned();
        if t.is_media_wanted() {
            let side = i64::try_from(SIDE)?;
            let image = t.tensor(&self.pixels(axes.diagonal), &[3, side, side])?;
            t.put_image(&name, &image)?;
        }
        if t.run_dir().is_none() || t.rank() != 0 {
            return Ok(());
        }
        let title = format!("{}/{name}", t.phase().name());
        let file = format!("{FOLDER}/{}_{name}.json", t.phase().name());
        // A picture that cannot be written does not end a run.
        if let Err(error) = t.write_file(&file, self.json(&title, t.iter(), axes)) {
            warn!("the report will not contain the curve of {title}: {error}");
        }
        Ok(())
    }

    /// Red, green and blue: white paper, a frame, guessing as a thin line, and a color for each class.
    fn pixels(&self, diagonal: bool) -> Vec<u8> {
        let mut canvas = Canvas { pixels: vec![255; 3 * SIDE * SIDE] };
        let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)];
        canvas.polyline(&corners, [140, 149, 159], 1);
        if diagonal {
            canvas.polyline(&[(0.0, 0.0), (1.0, 1.0)], [208, 215, 222], 1);
        }
        for (index, (_, points)) in self.curves.iter().enumerate() {
            canvas.polyline(points, COLORS[index % COLORS.len()], 2);
        }
        canvas.pixels
    }

    fn json(&self, title: &str, iter: u64, axes: &Axes) -> String {
        let mut out = String::from("{\"title\":");
        _ = write!(out, "{title:?},\"iter\":{iter},\"x\":{:?},\"y\":{:?}", axes.x, axes.y);
        _ = write!(out, ",\"diagonal\":{},\"left_out\":{}", axes.diagonal, self.left_out);
        out.push_str(",\"curves\":[");
        for (index, (class, points)) in self.curves.iter().enumerate() {
            let comma = if index > 0 { ",\n" } else { "\n" };
            let points: Vec<_> = points.iter().map(|(x, y)| format!("[{x:.6},{y:.6}]")).collect();
            _ = write!(
                out,
                "{comma}{{\"name\":\"class {class}\",\"points\":[{}]}}",
                points.join(",")
            );
        }
        out.push_str("]}\n");
        out
    }
}

/// As the report's own colors.
const COLORS: [[u8; 3]; 6] =
    [[9, 105, 218], [225, 111, 36], [26, 127, 55], [130, 80, 223], [191, 57, 137], [110, 119, 129]];

/// Every n-th point, including the last.
fn thinned(points: &[(f64, f64)]) -> Points {
    let gap = points.len().div_ceil(MOST_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points.iter().enumerate().filter(|(at, _)| at % gap == 0 || *at == last);
    kept.map(|(_, point)| *point).collect()
}

/// A square picture, a plane for each color.
struct Canvas {
    pixels: Vec<u8>,
}

impl Canvas {
    /// Draws a line through points of the unit square, whose y grows upwards.
    fn polyline(&mut self, points: &[(f64, f64)], color: [u8; 3], width: usize) {
        for pair in points.windows(2) {
            let ((x0, y0), (x1, y1)) = (place(pair[0]), place(pair[1]));
            let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0);
            let mut step = 0.0;
            while step <= steps {
                let part = step / steps;
                self.dot(x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, color, width);
                step += 1.0;
            }
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place within the picture"
    )]
    fn dot(&mut self, x: f64, y: f64, color: [u8; 3], width: usize) {
        let (left, top) = (x.round() as usize, y.round() as usize);
        for (row, column) in (0..width).flat_map(|row| (0..width).map(move |column| (row, column)))
        {
            let (row, column) = (top + row, left + column);
            if row < SIDE && column < SIDE {
                for (plane, value) in color.iter().enumerate() {
                    self.pixels[(plane * SIDE + row) * SIDE + column] = *value;
                }
            }
        }
    }
}

/// Where a point of the unit square is in the picture.
#[expect(clippy::cast_precision_loss, reason = "a picture has few pixels")]
fn place((x, y): (f64, f64)) -> (f64, f64) {
    let (margin, length) = (MARGIN as f64, (SIDE - 1 - 2 * MARGIN) as f64);
    (margin + x.clamp(0.0, 1.0) * length, margin + (1.0 - y.clamp(0.0, 1.0)) * length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(points: &[(f64, f64)]) -> Curves {
        Curves::new(&[vec![(0.5, true)]], |_| Some(points.to_vec()))
    }

    fn color(pixels: &[u8], row: usize, column: usize) -> [u8; 3] {
        [0, 1, 2].map(|plane| pixels[(plane * SIDE + row) * SIDE + column])
    }

    #[test]
    fn a_curve_runs_through_the_picture_where_its_points_are() {
        let pixels = curves(&[(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]).pixels(true);
        let (low, high, middle) = (MARGIN, SIDE - 1 - MARGIN, SIDE / 2);
        assert_eq!(color(&pixels, middle, low), COLORS[0], "up the left side");
        assert_eq!(color(&pixels, low, middle), COLORS[0], "along the top");
        assert_eq!(color(&pixels, high, middle), [140, 149, 159], "the frame below");
        assert_eq!(color(&pixels, middle - 40, middle - 60), [255, 255, 255]);
        let guessing = (0..SIDE).filter(|at| color(&pixels, SIDE - 1 - at, *at) == [208, 215, 222]);
        assert!(guessing.count() > SIDE / 2);
    }

    #[test]
    fn a_file_names_axes_classes_and_points() {
        let axes = Axes { x: "recall", y: "precision", diagonal: false };
        let text = curves(&[(0.0, 1.0), (0.5, 0.25)]).json("val/\"odd\"", 40, &axes);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (json["title"].as_str(), json["iter"].as_u64()),
            (Some("val/\"odd\""), Some(40))
        );
        assert_eq!((json["x"].as_str(), json["y"].as_str()), (Some("recall"), Some("precision")));
        assert_eq!(json["curves"][0]["name"], "class 1");
        assert_eq!(json["curves"][0]["points"], serde_json::json!([[0.0, 1.0], [0.5, 0.25]]));
    }

    #[test]
    fn long_curves_are_thinned_and_many_classes_counted() {
        let long: Points = (0..5000).map(|at| (f64::from(at) / 5000.0, 0.5)).collect();
        let rankings = vec![vec![(0.5, true)]; 14];
        let curves = Curves::new(&rankings, |_| Some(long.clone()));
        assert_eq!((curves.curves.len(), curves.left_out), (10, 4));
        assert!(curves.curves.iter().all(|(_, points)| points.len() <= MOST_POINTS + 1));
        assert_eq!(curves.curves[3].1.last(), long.last());
        assert_eq!(curves.curves[3].0, 3);
    }
}

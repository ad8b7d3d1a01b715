//! `ConfusionMatrix`: predicted against true classes, as a table and as a picture.

use super::gathered::gathered;
use super::numbers::{Classified, IGNORED, classified, predicted};
use hookrack_plugin_api::prelude::*;
use std::fmt::Write as _;

/// The maximum number of classes that are printed as a table.
const TABLE: usize = 20;
/// The side of a picture, at least.
const SIDE: usize = 256;

/// Counts of predicted against true classes; its scalar is the accuracy.
#[derive(Settings)]
pub(super) struct ConfusionMatrix {
    /// Maximum number of classes; the matrix has that many rows and columns.
    #[param(default = 1000, min = 2)]
    limit: usize,
    /// Threshold above which a single output predicts class 1: 0 for logits, 0.5 for probabilities.
    #[param(default)]
    threshold: f64,
    /// Label to ignore; by default that of the loss.
    #[param(default = IGNORED)]
    ignore_index: i64,
    #[param(skip)]
    matrix: Matrix,
}
/// A row for each true class, a column for each predicted class.
#[derive(Default)]
struct Matrix {
    classes: usize,
    counts: Vec<f64>,
    last: Option<f64>,
}

impl Matrix {
    fn add(&mut self, batch: Classified<'_>, threshold: f64, limit: usize) -> Result<()> {
        let classes = batch.classes();
        ensure!(
            classes <= limit,
            "{classes} classes are more than `limit` = {limit}: increase `limit`"
        );
        self.widen(classes)?;
        let (mut hits, mut samples) = (0.0, 0.0);
        for row in batch.rows() {
            let (row, wanted) = row?;
            let said = predicted(row, threshold);
            self.counts[wanted * classes + said] += 1.0;
            samples += 1.0;
            hits += f64::from(u8::from(said == wanted));
        }
        self.last = (samples > 0.0).then(|| hits / samples);
        Ok(())
    }

    fn widen(&mut self, classes: usize) -> Result<()> {
        if self.classes == 0 {
            let (cells, mut counts) = (classes.saturating_mul(classes), Vec::new());
            ensure!(
                counts.try_reserve_exact(cells).is_ok(),
                "not enough memory for a confusion matrix of {classes} classes"
            );
            counts.resize(cells, 0.0);
            (self.classes, self.counts) = (classes, counts);
        }
        ensure!(
            self.classes == classes,
            "a batch has {classes} classes, earlier ones had {}",
            self.classes
        );
        Ok(())
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.counts.chunks_exact(self.classes.max(1))
    }

    /// The fraction on the diagonal.
    fn share(&self) -> f64 {
        let hits: f64 = self.rows().enumerate().map(|(class, row)| row[class]).sum();
        let samples: f64 = self.counts.iter().sum();
        if samples > 0.0 { hits / samples } else { f64::NAN }
    }

    /// A Markdown table that also reads as plain text.
    fn table(&self) -> String {
        let widest = self.counts.iter().fold(0.0f64, |widest, count| widest.max(*count));
        let width = format!("{widest:.0}").len().max(3);
        let mut out = String::from("| true \\ pred |");
        (0..self.classes).for_each(|class| _ = write!(out, " {class:>width$} |"));
        let rule = format!("{}:|", "-".repeat(width + 1)).repeat(self.classes);
        _ = write!(out, "\n|------------:|{rule}");
        for (class, row) in self.rows().enumerate() {
            _ = write!(out, "\n| {class:>11} |");
            for count in row {
                _ = write!(out, " {count:>width$.0} |");
            }
        }
        out
    }

    /// Gray levels, a square of pixels for each pair of classes: white if all samples of a class are predicted as the other.
    fn pixels(&self) -> (Vec<f32>, usize) {
        let cell = SIDE.div_ceil(self.classes.max(1));
        let mut pixels = Vec::with_capacity(self.counts.len() * cell * cell);
        for row in self.rows() {
            let total: f64 = row.iter().sum();
            #[expect(clippy::cast_possible_truncation, reason = "a gray level")]
            let gray = |count: &f64| if total > 0.0 { (count / total) as f32 } else { 0.0 };
            let line: Vec<f32> =
                row.iter().map(gray).flat_map(|level| std::iter::repeat_n(level, cell)).collect();
            (0..cell).for_each(|_| pixels.extend(&line));
        }
        (pixels, self.classes * cell)
    }

    fn merge(&mut self, other: &StateReader<'_>) -> Result<()> {
        let classes = other.value::<usize>("classes")?;
        if classes > 0 {
            self.widen(classes)?;
            let more = other.value::<Vec<f64>>("counts")?;
            self.counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        Ok(())
    }

    fn save(&self, state: &mut StateWriter<'_>) -> Result<()> {
        state.put("classes", self.classes)?;
        state.put("counts", self.counts.clone())
    }
}

#[metric(better = "higher")]
impl Metric for ConfusionMatrix {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        let (threshold, limit) = (self.threshold, self.limit);
        classified(t, self.ignore_index, |batch| self.matrix.add(batch, threshold, limit))
    }

    fn compute(&self) -> f64 {
        self.matrix.share()
    }

    fn step_value(&self) -> Option<f64> {
        self.matrix.last
    }

    fn report(&self, t: &mut Trainer) -> Result<()> {
        let name = t.instance().to_owned();
        if (1..=TABLE).contains(&self.matrix.classes) {
            t.put_text(&name, &self.matrix.table())?;
        }
        if t.is_media_wanted() && self.matrix.classes > 0 {
            let (pixels, side) = self.matrix.pixels();
            let side = i64::try_from(side)?;
            let image = t.tensor(&pixels, &[side, side])?;
            t.put_image(&name, &image)?;
        }
        Ok(())
    }

    gathered!(matrix);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Matrix {
        let scores = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
        let mut matrix = Matrix::default();
        matrix
            .add(
                Classified { scores: &scores, width: 2, labels: &[0, 1, 1, 0], ignored: IGNORED },
                0.0,
                9,
            )
            .unwrap();
        matrix
    }

    #[test]
    fn rows_are_what_a_sample_is_and_columns_what_it_was_taken_for() {
        let matrix = matrix();
        assert_eq!(matrix.counts, [2.0, 0.0, 1.0, 1.0]);
        assert_eq!((matrix.share(), matrix.last), (0.75, Some(0.75)));
        assert_eq!(
            matrix.table(),
            "| true \\ pred |   0 |   1 |\n|------------:|----:|----:|\n|           0 |   2 |   0 |\n|           1 |   1 |   1 |"
        );
        let (pixels, side) = matrix.pixels();
        assert_eq!((side, pixels.len()), (256, 256 * 256));
        let corners = [0, 255, 255 * 256, 256 * 256 - 1].map(|at| pixels[at]);
        let near = corners.iter().zip([1.0, 0.0, 0.5, 0.5]).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near, "{corners:?}");
    }

    #[test]
    fn too_many_classes_are_refused_before_they_take_memory() {
        let batch = Classified { scores: &[0.0; 30], width: 30, labels: &[0], ignored: IGNORED };
        let error = Matrix::default().add(batch, 0.0, 20).unwrap_err().to_string();
        assert_eq!(error, "30 classes are more than `limit` = 20: increase `limit`");
    }

    #[test]
    fn an_empty_pass_has_no_value_and_no_table() {
        let matrix = Matrix::default();
        assert!(matrix.share().is_nan());
        assert_eq!(matrix.pixels(), (Vec::new(), 0));
    }
}

//! The current batch as plain numbers: rows of scores with a class each, or pairs of output and target.

use hookrack_plugin_api::prelude::*;
use hookrack_plugin_api::view::Element;

static MOVEDIM: CachedOp = CachedOp::new("aten::movedim.int");

/// The default label to ignore, as in libtorch's losses.
pub(super) const IGNORED: i64 = -100;

/// The same tensor if its memory can be read as `T`; otherwise a copy on the CPU (another device, another
/// precision, a transposed view).
fn readable<T: Element>(mut tensor: Tensor) -> Result<Tensor> {
    if tensor.view().is_ok_and(|view| view.elements::<T>().is_ok()) {
        return Ok(tensor);
    }
    tensor.to_device("cpu")?.to_dtype(T::DATA_TYPE)?.contiguous()
}

/// Rows of scores, a class for each row.
#[derive(Clone, Copy)]
pub(super) struct Classified<'a> {
    /// All scores, row by row.
    pub scores: &'a [f32],
    /// Scores per row. A single score is that of class 1 against class 0.
    pub width: usize,
    /// The class of each row.
    pub labels: &'a [i64],
    /// Rows with this label do not count.
    pub ignored: i64,
}

impl<'a> Classified<'a> {
    /// The number of classes.
    pub(super) fn classes(&self) -> usize {
        self.width.max(2)
    }

    /// Each row with its class; ignored ones are left out.
    ///
    /// # Errors
    /// A label is not a class.
    pub(super) fn rows(&self) -> impl Iterator<Item = Result<(&'a [f32], usize)>> {
        let (classes, ignored) = (self.classes(), self.ignored);
        let rows = self.scores.chunks_exact(self.width.max(1)).zip(self.labels);
        rows.filter(move |(_, label)| **label != ignored).map(move |(row, label)| {
            let class = usize::try_from(*label).ok().filter(|class| *class < classes);
            let class = class.ok_or_else(|| {
                Error::new(format!("label {label} is not one of {classes} classes"))
            })?;
            Ok((row, class))
        })
    }

    /// The sum of a function of each row and its class, and the number of rows.
    pub(super) fn sum(&self, value: impl Fn(&[f32], usize) -> f64) -> Result<(f64, f64)> {
        self.rows().try_fold((0.0, 0.0), |(sum, count), row| {
            let (row, class) = row?;
            Ok((sum + value(row, class), count + 1.0))
        })
    }
}

/// The predicted class of a row of scores: the largest, the first among equal ones, NaN before every number as in
/// `argmax`; for a single score, whether it is above the threshold.
pub(super) fn predicted(row: &[f32], threshold: f64) -> usize {
    if let [score] = row {
        return usize::from(f64::from(*score) > threshold);
    }
    let mut best = 0;
    for (class, score) in row.iter().enumerate().skip(1) {
        let is_better = *score > row[best] || score.is_nan();
        if is_better && !row[best].is_nan() {
            best = class;
        }
    }
    best
}

/// The output with its scores moved from the second to the last dimension: a class for each pixel of a
/// picture.
fn scores_last(t: &Trainer, mut output: Tensor, label: &mut Tensor) -> Result<Tensor> {
    let is_picture = {
        let (scores, labels) = (output.view()?.shape(), label.view()?.shape());
        scores.len() > 2
            && scores.len() == labels.len() + 1
            && scores[..labels.len()] != *labels
            && scores[0] == labels[0]
            && scores[2..] == labels[1..]
    };
    if !is_picture {
        return Ok(output);
    }
    t.call(&MOVEDIM, &[Arg::from(&output), Arg::from(1), Arg::from(-1)])?.tensor()
}

/// The class of each row if labels are class probabilities, as after mixing: the largest.
fn largest_share(output: &mut Tensor, mut label: Tensor) -> Result<Tensor> {
    let is_shares = {
        let (scores, labels) = (output.view()?.shape(), label.view()?);
        let is_one = |shape: &[i64]| shape.len() < 2 || shape.last() == Some(&1);
        let shape = labels.shape();
        labels.data_type().code == 2 && scores == shape && !is_one(shape)
    };
    if is_shares {
        check_shares(&label)?;
        return label.argmax(-1, false);
    }
    Ok(label)
}

/// How far from 1 the class probabilities of a row may sum: more than rounding, and less than any second class.
const ROUNDING: f64 = 1e-3;

/// Refuses labels that are numbers of another meaning: several classes at a time, values of a regression.
fn check_shares(label: &Tensor) -> Result<()> {
    let mut label = readable::<f32>(label.to_device("cpu")?)?;
    let labels = label.view()?;
    let width = usize::try_from(labels.shape().last().copied().unwrap_or(1))?;
    for row in labels.elements::<f32>()?.chunks_exact(width.max(1)) {
        let sum: f64 = row.iter().copied().map(f64::from).sum();
        let negative = row.iter().find(|share| **share < 0.0);
        let why = match negative {
            Some(share) => format!("a row has {share}"),
            None if (sum - 1.0).abs() <= ROUNDING => continue,
            None => format!("a row sums to {sum}"),
        };
        bail!("labels are not class probabilities: {why}; this metric needs classes");
    }
    Ok(())
}

/// Labels as whole numbers. Floats that are none would be rounded towards 0, to a class or a token that they are not.
fn whole(mut label: Tensor, what: &str) -> Result<Tensor> {
    // DLPack's codes of floats and of bfloat16.
    if !matches!(label.view()?.data_type().code, 2 | 4) {
        return readable::<i64>(label);
    }
    let mut numbers = readable::<f32>(label.to_device("cpu")?)?;
    let odd =
        numbers.view()?.elements::<f32>()?.iter().copied().find(|number| number.fract() != 0.0);
    if let Some(number) = odd {
        bail!("label {number} is not a {what}: this metric needs {what} indices");
    }
    readable::<i64>(label)
}

/// Reads the batch as rows of scores with a class each; rows with the label `ignored` do not count. The output has one dimension more than the label, the scores,
/// or as many, one score each.
pub(super) fn classified<T>(
    t: &Trainer,
    ignored: i64,
    body: impl FnOnce(Classified<'_>) -> Result<T>,
) -> Result<T> {
    let mut output = t.output()?.to_device("cpu")?;
    let mut label = largest_share(&mut output, t.label()?.to_device("cpu")?)?;
    let mut output = readable::<f32>(scores_last(t, output, &mut label)?)?;
    let mut label = whole(label, "class")?;
    let (scores, labels) = (output.view()?, label.view()?);
    let width = width(scores.shape(), labels.shape())?;
    let (scores, labels) = (scores.elements()?, labels.elements()?);
    body(Classified { scores, width, labels, ignored })
}

/// The number of scores per label.
fn width(scores: &[i64], labels: &[i64]) -> Result<usize> {
    let fits = match scores {
        _ if scores == labels => Some(1),
        [rows @ .., width] if rows == labels => usize::try_from(*width).ok(),
        _ => None,
    };
    fits.ok_or_else(|| {
        Error::new(format!(
            "expected a row of scores for each label, found shapes {scores:?} and {labels:?}"
        ))
    })
}

/// Outputs and targets, element by element.
#[derive(Clone, Copy)]
pub(super) struct Paired<'a> {
    /// The outputs.
    pub outputs: &'a [f32],
    /// The targets.
    pub labels: &'a [f32],
    /// Elements per sample.
    pub columns: usize,
}

impl<'a> Paired<'a> {
    /// Each output with its target, in double precision.
    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        self.outputs.iter().zip(self.labels).map(|(x, y)| (f64::from(*x), f64::from(*y)))
    }

    /// The sum of a function of each output and target, and their number.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer numbers than 2^53")]
    pub(super) fn total(&self, value: impl Fn(f64, f64) -> f64) -> (f64, f64) {
        (self.iter().map(|(x, y)| value(x, y)).sum(), self.outputs.len() as f64)
    }

    /// The number of samples.
    #[expect(clippy::cast_precision_loss, reason = "a batch has far fewer samples than 2^53")]
    pub(super) fn samples(&self) -> f64 {
        (self.outputs.len() / self.columns.max(1)) as f64
    }
}

/// Reads the batch as outputs and targets. Both must have the same number of elements; an output of one column and a
/// label without columns match.
pub(super) fn paired<T>(t: &Trainer, body: impl FnOnce(Paired<'_>) -> Result<T>) -> Result<T> {
    let mut output = readable::<f32>(t.output()?)?;
    let mut label = readable::<f32>(t.label()?)?;
    let (outputs, labels) = (output.view()?, label.view()?);
    let (found, wanted) = (outputs.shape(), labels.shape());
    let same = found == wanted
        || found.strip_suffix(&[1]) == Some(wanted)
        || wanted.strip_suffix(&[1]) == Some(found);
    ensure!(
        same,
        "expected an output and a label of the same shape, found {found:?} and {wanted:?}"
    );
    let columns = usize::try_from(found.iter().skip(1).product::<i64>())?;
    body(Paired { outputs: outputs.elements()?, labels: labels.elements()?, columns })
}

/// Reads the batch as rows of tokens: the output's, the largest score of each place or the tokens themselves, and the
/// label's.
pub(super) fn tokens<T>(
    t: &Trainer,
    body: impl FnOnce(&[i64], &[i64], usize) -> Result<T>,
) -> Result<T> {
    let mut label = whole(t.label()?.to_device("cpu")?, "token")?;
    let labels = label.view()?;
    let [_, length] = *labels.shape() else {
        bail!("expected labels of shape [samples, tokens], found shape {:?}", labels.shape());
    };
    let length = usize::try_from(length)?;
    let mut output = readable::<f32>(t.output()?)?;
    let scores = output.view()?;
    #[expect(clippy::cast_possible_truncation, reason = "a token is a whole number")]
    let found: Vec<i64> = match width(scores.shape(), labels.shape())? {
        1 => scores.elements::<f32>()?.iter().map(|token| *token as i64).collect(),
        width => {
            let rows = scores.elements::<f32>()?.chunks_exact(width.max(1));
            rows.map(|row| i64::try_from(predicted(row, 0.0)).unwrap_or(i64::MAX)).collect()
        }
    };
    body(&found, labels.elements()?, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_score_is_the_class_the_first_of_equal_ones_and_nan_before_numbers() {
        assert_eq!(predicted(&[0.1, 0.7, 0.2], 0.0), 1);
        assert_eq!(predicted(&[0.5, 0.5], 0.0), 0);
        assert_eq!(predicted(&[0.5, f32::NAN, f32::NAN, 9.0], 0.0), 1);
        assert_eq!(predicted(&[f32::NAN, 1.0], 0.0), 0);
        assert_eq!((predicted(&[0.4], 0.5), predicted(&[0.6], 0.5)), (0, 1));
        assert_eq!(predicted(&[f32::NAN], 0.5), 0);
    }

    #[test]
    fn an_output_has_one_score_or_a_row_of_them_for_each_label() {
        assert_eq!(width(&[8, 10], &[8]).unwrap(), 10);
        assert_eq!(width(&[8, 3, 10], &[8, 3]).unwrap(), 10);
        assert_eq!(width(&[8], &[8]).unwrap(), 1);
        assert_eq!(width(&[8, 1], &[8]).unwrap(), 1);
        assert_eq!(width(&[8, 1], &[8, 1]).unwrap(), 1);
        assert!(width(&[8, 10], &[10]).is_err());
    }

    #[test]
    fn an_invalid_label_is_refused_and_an_ignored_one_left_out() {
        let (scores, width): (&[f32], _) = (&[0.0, 1.0, 1.0, 0.0], 2);
        let batch = |labels, ignored| Classified { scores, width, labels, ignored };
        assert_eq!(batch(&[-100, 1], -100).rows().count(), 1);
        assert_eq!(batch(&[255, 1], 255).rows().count(), 1);
        assert_eq!(batch(&[0, 1], 1).rows().count(), 1, "one of the classes may be ignored too");
        let error = batch(&[0, 2], -100).rows().nth(1).unwrap().unwrap_err().to_string();
        assert_eq!(error, "label 2 is not one of 2 classes");
    }
}

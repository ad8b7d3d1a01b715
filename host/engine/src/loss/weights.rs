//! Weights of classes or columns: numbers from a config as a tensor of the output's kind.

use tch::{Kind, Tensor};

use crate::error::Result;
use hookrack_torch::buffer::with_elements;

/// The weights, in doubles on the CPU; `None` for equal weights. There must be `count` of them, none negative.
pub(super) fn weights(numbers: &[f64], count: i64) -> std::result::Result<Option<Tensor>, String> {
    if numbers.is_empty() {
        return Ok(None);
    }
    if let Some(wrong) = numbers.iter().find(|number| !number.is_finite() || **number < 0.0) {
        return Err(format!("{wrong} is negative or not finite: must be at least 0"));
    }
    if i64::try_from(numbers.len()) != Ok(count) {
        return Err(format!("expected {count} numbers, found {}", numbers.len()));
    }
    Tensor::f_from_slice(numbers).map(Some).map_err(|error| error.to_string())
}

/// Weights of classes: not all of them 0, which would make the loss NaN.
pub(super) fn class_weights(
    numbers: &[f64],
    count: i64,
) -> std::result::Result<Option<Tensor>, String> {
    if !numbers.is_empty() && numbers.iter().all(|number| *number == 0.0) {
        return Err("at least one must be above 0, found only 0".to_owned());
    }
    weights(numbers, count)
}

/// The weights on the output's device and in its dtype; copies a few numbers per call.
pub(super) fn beside(weights: Option<&Tensor>, output: &Tensor) -> Result<Option<Tensor>> {
    let like = |weights: &Tensor| weights.f_to_device(output.device())?.f_to_kind(output.kind());
    Ok(weights.map(like).transpose()?)
}

/// What class indices weigh in a mean.
#[derive(Debug)]
pub struct LabelWeights {
    /// The label that does not count.
    pub(super) ignore_index: i64,
    /// The weight of each class; `None` for equal weights.
    pub(super) classes: Option<Tensor>,
}

impl LabelWeights {
    /// The sum of the class weights of the labels, without those that are ignored; their number if there are no class weights.
    /// `None` if labels are class probabilities: libtorch then averages over the rows, whatever the class weights.
    pub(super) fn of(&self, label: &Tensor) -> Result<Option<f64>> {
        if label.is_floating_point() {
            return Ok(None);
        }
        if self.classes.is_none()
            && let Some(count) = with_elements(label, |labels| count_but(labels, self.ignore_index))
        {
            return Ok(Some(count));
        }
        let kept = label.f_ne(self.ignore_index)?;
        let Some(weights) = &self.classes else {
            return Ok(Some(kept.f_sum(Kind::Double)?.f_double_value(&[])?));
        };
        let classes = label.f_masked_select(&kept)?;
        let weights = weights.f_to_device(label.device())?.f_index_select(0, &classes)?;
        Ok(Some(weights.f_sum(Kind::Double)?.f_double_value(&[])?))
    }
}

impl PartialEq for LabelWeights {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.classes, &other.classes) {
            (None, None) => true,
            (Some(one), Some(other)) => one.f_equal(other).unwrap_or(false),
            _ => false,
        };
        is_same && self.ignore_index == other.ignore_index
    }
}

/// The number of labels that are not `ignored`. Called in every step, so it creates no tensor.
#[expect(clippy::cast_precision_loss, reason = "a batch has far fewer labels than 2^53")]
fn count_but(labels: &[i64], ignored: i64) -> f64 {
    labels.iter().filter(|label| **label != ignored).count() as f64
}

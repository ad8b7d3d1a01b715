//! `CrossEntropy`: class scores against class numbers.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::weights::{LabelWeights, beside, class_weights};
use super::{Criterion, label};
use crate::data::{DataSpec, Target};
use crate::error::Result;
use crate::registry::Component;
use hookrack_torch::cross_entropy::cross_entropy;

/// Cross entropy between logits and class indices.
#[derive(Debug, Clone, Settings)]
pub struct CrossEntropySettings {
    /// Label smoothing: fraction of each label that is spread evenly over all classes.
    #[param(default, min = 0.0, max = 1.0)]
    pub label_smoothing: f64,
    /// Label to ignore.
    #[param(default = -100)]
    pub ignore_index: i64,
    /// Weight of each class; empty for equal weights.
    #[param(default)]
    pub class_weights: Vec<f64>,
}

impl Component<DataSpec, dyn Criterion> for CrossEntropySettings {
    const NAME: &'static str = "CrossEntropy";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        let count = label::classes_or_shares(data).map_err(Self::refuse)?;
        if matches!(data.target, Target::Shares(_)) && self.ignore_index >= 0 {
            let why = "ignore_index needs class indices, and mixed labels are class probabilities";
            return Err(Self::refuse(format!("{why}: remove it, or the mixing")));
        }
        let classes = class_weights(&self.class_weights, count)
            .map_err(|why| Self::refuse_key("class_weights", why))?;
        let Self { label_smoothing, ignore_index, .. } = self;
        let labels = LabelWeights { ignore_index, classes };
        Ok(Box::new(CrossEntropy { label_smoothing, labels }))
    }
}

/// The loss itself.
#[derive(Debug)]
struct CrossEntropy {
    label_smoothing: f64,
    labels: LabelWeights,
}

impl Criterion for CrossEntropy {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        let (output, label) = label::by_row(output, label)?;
        if self.labels.classes.is_none() && self.label_smoothing <= 0.0 {
            return Ok(cross_entropy(&output, &label, self.labels.ignore_index)?);
        }
        Ok(output.f_cross_entropy_loss(
            &label,
            beside(self.labels.classes.as_ref(), &output)?,
            Reduction::Mean,
            self.labels.ignore_index,
            self.label_smoothing,
        )?)
    }

    fn label_weights(&self) -> Option<&LabelWeights> {
        Some(&self.labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookrack_torch::rounding;

    /// Two or four softmaxes over two scores of up to 5, and their mean.
    const ROUNDINGS: u32 = 24;

    fn smoothed(label_smoothing: f64) -> CrossEntropy {
        let labels = LabelWeights { ignore_index: -100, classes: None };
        CrossEntropy { label_smoothing, labels }
    }

    fn loss(label_smoothing: f64, labels: &[i64]) -> f64 {
        let output = Tensor::from_slice2(&[[0.0_f32, 0.0], [0.0, 2.0]]);
        let criterion = smoothed(label_smoothing);
        criterion.loss(&output, &Tensor::from_slice(labels)).unwrap().double_value(&[])
    }

    #[test]
    fn values_follow_the_formula() {
        let certain = (1.0 + (-2.0_f64).exp()).ln();
        rounding::assert_near(loss(0.0, &[0, 1]), f64::midpoint(2.0_f64.ln(), certain), ROUNDINGS);
        rounding::assert_near(loss(0.0, &[-100, 1]), certain, ROUNDINGS);
        rounding::assert_near(loss(0.2, &[-100, 1]), certain + 0.1 * 2.0, ROUNDINGS);
    }

    #[test]
    fn shares_of_classes_weigh_the_losses_of_each() {
        let output = Tensor::from_slice2(&[[0.5_f32, 2.0], [1.0, -1.0]]);
        let criterion = smoothed(0.0);
        let loss = |label: &Tensor| criterion.loss(&output, label).unwrap().double_value(&[]);
        let mixed = loss(&Tensor::from_slice2(&[[0.3_f32, 0.7], [0.7, 0.3]]));
        let (one, other) =
            (loss(&Tensor::from_slice(&[0_i64, 1])), loss(&Tensor::from_slice(&[1_i64, 0])));
        rounding::assert_near(mixed, 0.3 * one + 0.7 * other, 2 * ROUNDINGS);
    }

    #[test]
    fn tokens_count_one_by_one() {
        let output = Tensor::from_slice(&[0.0_f32, 0.0, 0.0, 2.0, 1.0, 3.0, 5.0, 1.0]);
        let label = Tensor::from_slice(&[0_i64, 1, 1, 0]);
        let criterion = smoothed(0.0);
        let loss = |output: &Tensor, label: &Tensor| {
            criterion.loss(output, label).unwrap().double_value(&[])
        };
        let rows = loss(&output.view([4, 2]), &label);
        let tokens = loss(&output.view([2, 2, 2]), &label.view([2, 2]));
        rounding::assert_near(tokens, rows, 2 * ROUNDINGS);
    }

    #[test]
    fn a_label_out_of_range_is_an_error_not_a_panic() {
        let output = Tensor::from_slice2(&[[0.0_f32, 0.0]]);
        let criterion = smoothed(0.0);
        let error = criterion.loss(&output, &Tensor::from_slice(&[5_i64])).unwrap_err();
        assert!(error.to_string().contains("out of bounds"), "{error}");
    }
}

//! `NLL`: log-probabilities of classes against class numbers.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::weights::{LabelWeights, beside, class_weights};
use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Negative log-likelihood of class indices under outputs that are log-probabilities.
#[derive(Debug, Clone, Settings)]
pub struct NllSettings {
    /// Label to ignore.
    #[param(default = -100)]
    pub ignore_index: i64,
    /// Weight of each class; empty for equal weights.
    #[param(default)]
    pub class_weights: Vec<f64>,
}

impl Component<DataSpec, dyn Criterion> for NllSettings {
    const NAME: &'static str = "NLL";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        let count = label::classes(data).map_err(Self::refuse)?;
        let classes = class_weights(&self.class_weights, count)
            .map_err(|why| Self::refuse_key("class_weights", why))?;
        Ok(Box::new(Nll(LabelWeights { ignore_index: self.ignore_index, classes })))
    }
}

/// The loss itself.
#[derive(Debug)]
struct Nll(LabelWeights);

impl Criterion for Nll {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        let (output, label) = label::by_row(output, label)?;
        let weights = beside(self.0.classes.as_ref(), &output)?;
        Ok(output.f_nll_loss_nd(&label, weights, Reduction::Mean, self.0.ignore_index)?)
    }

    fn label_weights(&self) -> Option<&LabelWeights> {
        Some(&self.0)
    }
}

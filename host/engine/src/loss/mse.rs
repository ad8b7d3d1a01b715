//! `MSE`: the mean squared difference.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Mean squared error between outputs and labels of the same shape.
#[derive(Debug, Clone, Settings)]
pub struct Mse {}

impl Component<DataSpec, dyn Criterion> for Mse {
    const NAME: &'static str = "MSE";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
        label::values(data).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Criterion for Mse {
    fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
        label::same_shape("loss `MSE`, for the label,", output, label)?;
        Ok(output.f_mse_loss(label, Reduction::Mean)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_all_values() {
        let output = Tensor::from_slice2(&[[1.0_f32, 2.0], [3.0, 4.0]]);
        let label = Tensor::from_slice2(&[[1.0_f32, 2.0], [3.0, 0.0]]);
        // Whole numbers all the way.
        assert_eq!(Mse {}.loss(&output, &label).unwrap(), Tensor::from(4.0_f32));
    }

    #[test]
    fn shapes_are_never_stretched() {
        let (output, label) =
            (Tensor::from_slice2(&[[1.0_f32], [2.0]]), Tensor::from_slice(&[1.0_f32, 2.0]));
        let error = Mse {}.loss(&output, &label).unwrap_err();
        assert_eq!(
            error.to_string(),
            "loss `MSE`, for the label, expects shape [2, 1] as the output has, found [2]"
        );
    }
}

//! `L1`, `MSE`, `SmoothL1`, `Huber`: means over the differences of outputs and labels of one shape.

use hookrack_plugin_api::prelude::Settings;
use tch::{Reduction, Tensor};

use super::{Criterion, label};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Mean absolute error between outputs and labels of the same shape.
#[derive(Debug, Clone, Settings)]
pub struct L1 {}

/// Mean squared error between outputs and labels of the same shape.
#[derive(Debug, Clone, Settings)]
pub struct Mse {}

/// Smooth L1 loss: quadratic below `beta`, L1 beyond.
#[derive(Debug, Clone, Settings)]
pub struct SmoothL1 {
    /// Where the loss becomes linear; 0 is L1.
    #[param(default = 1.0, min = 0.0)]
    pub beta: f64,
}

/// Huber loss: quadratic up to `delta`, linear beyond.
#[derive(Debug, Clone, Settings)]
pub struct Huber {
    /// Where the loss becomes linear.
    #[param(default = 1.0, min = 0.0)]
    pub delta: f64,
}

impl Huber {
    fn check(&self) -> std::result::Result<(), &'static str> {
        if self.delta == 0.0 { Err("delta = 0: must be above 0, or use L1") } else { Ok(()) }
    }
}

/// The settings, the name, what else is checked, and libtorch's function.
macro_rules! losses {
    ($($settings:ident $name:literal $(checks $check:path)? => $loss:expr;)+) => {$(
        impl Component<DataSpec, dyn Criterion> for $settings {
            const NAME: &'static str = $name;

            fn build(self, data: &DataSpec) -> Result<Box<dyn Criterion>> {
                $($check(&self).map_err(Self::refuse)?;)?
                label::values(data).map_err(Self::refuse)?;
                Ok(Box::new(self))
            }
        }

        impl Criterion for $settings {
            fn loss(&self, output: &Tensor, label: &Tensor) -> Result<Tensor> {
                let what = concat!("loss `", $name, "`, for the label,");
                label::same_shape(what, output, label)?;
                let loss: fn(&Self, &Tensor, &Tensor) -> _ = $loss;
                Ok(loss(self, output, label)?)
            }
        }
    )+};
}

losses! {
    L1 "L1" => |_, output, label| output.f_l1_loss(label, Reduction::Mean);
    Mse "MSE" => |_, output, label| output.f_mse_loss(label, Reduction::Mean);
    SmoothL1 "SmoothL1" => |own, output, label| {
        output.f_smooth_l1_loss(label, Reduction::Mean, own.beta)
    };
    Huber "Huber" checks Self::check => |own, output, label| {
        output.f_huber_loss(label, Reduction::Mean, own.delta)
    };
}

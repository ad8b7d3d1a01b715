//! `Normalize`: subtracts the mean and divides by the standard deviation, channel by channel.

use hookrack_plugin_api::prelude::Settings;

use super::image::{Frame, no_tokens};
use super::{Scale, Transform};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Subtracts the mean and divides by the standard deviation: one number, or one per channel or feature.
#[derive(Debug, Clone, Settings)]
pub struct NormalizeSettings {
    /// Mean to subtract: one number, or one per channel or feature.
    pub mean: Vec<f64>,
    /// Standard deviation to divide by: one number, or one per channel or feature.
    pub std: Vec<f64>,
}

impl Component<DataSpec, dyn Transform> for NormalizeSettings {
    const NAME: &'static str = "Normalize";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        no_tokens(data).map_err(Self::refuse)?;
        let channels = Frame::of(&data.input).channels;
        for (key, numbers) in [("mean", &self.mean), ("std", &self.std)] {
            let found = numbers.len();
            if found != 1 && found != channels {
                let why = format!(
                    "{key} has {found} numbers, but samples have {channels} channels: set one number, or {channels}"
                );
                return Err(Self::refuse(why));
            }
        }
        if let Some(std) = self.std.iter().find(|std| **std <= 0.0) {
            return Err(Self::refuse(format!("std = {std}: must be above 0")));
        }
        Ok(Box::new(Normalize { mean: self.mean, std: self.std }))
    }
}

/// The transform itself.
#[derive(Debug)]
struct Normalize {
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl Transform for Normalize {
    fn scale(&self, channel: usize) -> Scale {
        let of = |numbers: &[f64]| numbers.get(channel).or(numbers.first()).copied().unwrap_or(1.0);
        let (mean, std) = (of(&self.mean), of(&self.std));
        Scale { factor: 1.0 / std, shift: -mean / std }
    }
}

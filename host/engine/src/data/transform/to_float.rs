//! `ToFloat`: rescales values to another range.

use hookrack_plugin_api::prelude::Settings;

use super::image::no_tokens;
use super::{Scale, Transform};
use crate::data::DataSpec;
use crate::error::Result;
use crate::registry::Component;

/// Rescales values from 0..1 to another range.
#[derive(Debug, Clone, Settings)]
pub struct ToFloat {
    /// Value that 0 is mapped to.
    #[param(default)]
    pub low: f64,
    /// Value that 1, the maximum of a byte, is mapped to.
    #[param(default = 1.0)]
    pub high: f64,
}

impl Component<DataSpec, dyn Transform> for ToFloat {
    const NAME: &'static str = "ToFloat";

    fn build(self, data: &DataSpec) -> Result<Box<dyn Transform>> {
        no_tokens(data).map_err(Self::refuse)?;
        Ok(Box::new(self))
    }
}

impl Transform for ToFloat {
    fn scale(&self, _channel: usize) -> Scale {
        Scale { factor: self.high - self.low, shift: self.low }
    }
}

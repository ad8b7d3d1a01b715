//! `ConstantLR`: the optimizer's own rate throughout.

use hookrack_plugin_api::prelude::Settings;

use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Constant: `base`.
#[derive(Debug, Clone, Settings)]
pub(super) struct ConstantLr {}

impl Component<Horizon, dyn LrSchedule> for ConstantLr {
    const NAME: &'static str = "ConstantLR";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(Box::new(self))
    }
}

impl LrSchedule for ConstantLr {
    fn lr(&self, base: f64, _step: u64) -> f64 {
        base
    }

    fn by_epoch(&self) -> bool {
        false
    }
}

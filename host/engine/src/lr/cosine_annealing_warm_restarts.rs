//! `CosineAnnealingWarmRestarts`: half cosines, one after the other; PyTorch's formula.

use hookrack_plugin_api::prelude::Deserialize;

use super::rule::rule;
use super::shape::{cosine, share};
use super::{Horizon, LrSchedule};
use crate::error::Result;
use crate::registry::Component;

/// Falls along half a cosine to `eta_min`, starts again from the top, each time `t_mult` times as slow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CosineAnnealingWarmRestarts {
    /// Steps of the first fall.
    #[param(min = 1)]
    t_0: u64,
    /// How much longer each fall is than the one before.
    #[serde(default = "one")]
    #[param(min = 1)]
    t_mult: u64,
    /// The rate at the end of a fall.
    #[serde(default)]
    #[param(min = 0.0)]
    eta_min: f64,
    /// Count epochs as steps, not iterations.
    #[serde(default)]
    by_epoch: bool,
}

fn one() -> u64 {
    1
}

impl Component<Horizon, dyn LrSchedule> for CosineAnnealingWarmRestarts {
    const KIND: &'static str = "lr scheduler";
    const NAME: &'static str = "CosineAnnealingWarmRestarts";

    fn build(self, _horizon: &Horizon) -> Result<Box<dyn LrSchedule>> {
        Ok(rule(self.by_epoch, move |base, step| {
            let (step, length) = place(step, self.t_0, self.t_mult);
            cosine(base, self.eta_min, share(step, length))
        }))
    }
}

/// The step within its fall, and the length of that fall.
fn place(mut step: u64, mut length: u64, longer: u64) -> (u64, u64) {
    if longer == 1 {
        return (step % length, length);
    }
    while step >= length {
        step -= length;
        length = length.saturating_mul(longer);
    }
    (step, length)
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_fall_begins_where_the_last_one_ends() {
        assert_eq!(
            [0, 2, 3, 8, 9].map(|step| place(step, 3, 2)),
            [(0, 3), (2, 3), (0, 6), (5, 6), (0, 12)]
        );
        assert_eq!(place(1_000_000_000_000, 3, 1), (1, 3));
    }
}

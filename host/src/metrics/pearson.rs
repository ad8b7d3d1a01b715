//! `Pearson`: the linear correlation of outputs and labels.

use super::gathered::gathered;
use super::moments::{Column, Moments};
use super::numbers::paired;
use hookrack_plugin_api::prelude::*;

/// Pearson correlation of outputs and labels; the mean over columns.
#[derive(Settings)]
pub(super) struct Pearson {
    #[param(skip)]
    moments: Moments,
}

#[metric(better = "higher")]
impl Metric for Pearson {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        paired(t, |batch| self.moments.add(batch))
    }

    fn compute(&self) -> f64 {
        self.moments.mean_of(Column::pearson)
    }

    gathered!(moments);
}

//! `R2`: how much of the labels' variance the outputs explain.

use super::gathered::gathered;
use super::moments::{Column, Moments};
use super::numbers::paired;
use hookrack_plugin_api::prelude::*;

/// R², the fraction of the labels' variance that the outputs explain; the mean over columns.
#[derive(Settings)]
pub(super) struct R2 {
    #[param(skip)]
    moments: Moments,
}

#[metric(better = "higher")]
impl Metric for R2 {
    fn update(&mut self, t: &mut Trainer) -> Result<()> {
        paired(t, |batch| self.moments.add(batch))
    }

    fn compute(&self) -> f64 {
        self.moments.mean_of(Column::r2)
    }

    gathered!(moments);
}

//! Transforms: what is done to samples on their way into a batch, chosen by `type =` in a split's `transforms`.
//!
//! A transform reads no pixels. It defines how values are scaled, the same for all samples, and plans for each sample where
//! its pixels come from. The whole chain is then applied in one pass over the image, from the data set's
//! bytes to the batch.

mod augment;
mod chain;
mod image;
mod mix_up;
mod normalize;
mod plan;
mod random_crop;
mod random_erase;
mod render;
mod scale;
#[cfg(test)]
mod tests;
mod to_float;

pub use augment::{Cutout, RandomFlip, Rotate};
pub use chain::{Chain, Scratch};
pub use mix_up::MixUp;
pub use normalize::NormalizeSettings;
pub use plan::Plan;
pub use random_crop::RandomCropSettings;
pub use random_erase::RandomErase;
pub use scale::Scale;
pub use to_float::ToFloat;

use super::{DataSpec, Prng};
use crate::registry::{Built, ComponentKind, Entry};

/// One step of a chain, built for the output of the previous step.
pub trait Transform: Send + Sync {
    /// What samples look like afterwards.
    fn spec(&self, before: DataSpec) -> DataSpec {
        before
    }

    /// The mapping of the values of a channel, in every sample.
    fn scale(&self, _channel: usize) -> Scale {
        Scale::NONE
    }

    /// What it does to one sample. The random numbers depend on the run's seed, the epoch and the sample alone.
    fn plan(&self, _random: &mut Prng, _plan: &mut Plan) {}

    /// The weight of each sample when a batch is mixed with itself in reverse order. The random numbers depend on
    /// the run's seed, the epoch and the batch's position in it.
    fn mix(&self, _random: &mut Prng) -> Option<f32> {
        None
    }
}

impl Built for dyn Transform {
    const KIND: ComponentKind = ComponentKind::Transform;
}

/// Every transform that a config can name.
pub static TRANSFORMS: &[Entry<DataSpec, dyn Transform>] = &[
    Entry::of::<Cutout>(),
    Entry::of::<MixUp>(),
    Entry::of::<NormalizeSettings>(),
    Entry::of::<RandomCropSettings>(),
    Entry::of::<RandomErase>(),
    Entry::of::<RandomFlip>(),
    Entry::of::<Rotate>(),
    Entry::of::<ToFloat>(),
];

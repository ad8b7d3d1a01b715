//! A chain of transforms: built for a data set, planned for each sample, applied in one pass.

use super::image::Frame;
use super::plan::{FillValue, Plan};
use super::render::{PassBuffers, ValueMaps, render};
use super::scale::{ChannelMap, Scale, Source};
use super::{TRANSFORMS, Transform};
use crate::data::{DataSpec, Prng};
use crate::error::EngineError;
use crate::registry::{Build as _, Choice};

/// The transforms of a split, in order.
pub struct Chain {
    transforms: Vec<Box<dyn Transform>>,
    spec: DataSpec,
    frame: Frame,
    /// The mapping of the source's values, by channel.
    maps: Vec<ChannelMap>,
    /// Tones that change nothing.
    as_is: Vec<ChannelMap>,
    /// By transform and channel: what the later transforms do to a value.
    after: Vec<Vec<Scale>>,
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.transforms.len();
        out.debug_struct("Chain")
            .field("transforms", &count)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

/// What a thread keeps from sample to sample.
#[derive(Debug)]
pub struct Scratch {
    pub(super) plan: Plan,
    buffers: PassBuffers,
    numbers: Vec<f32>,
}

impl Chain {
    /// Builds the chain for samples that look like `spec`. An error carries the index of the transform.
    pub fn build(
        choices: &[Choice],
        spec: &DataSpec,
        brightest: u8,
    ) -> Result<Self, (usize, EngineError)> {
        let (mut transforms, mut now) = (Vec::new(), spec.clone());
        for (number, choice) in choices.iter().enumerate() {
            let built = choice.build(TRANSFORMS, &now);
            let transform = built.map_err(|error| (number, error))?;
            now = transform.spec(now);
            transforms.push(transform);
        }
        Ok(Self::new(transforms, spec, now, brightest))
    }

    /// No transform at all.
    pub fn none(spec: DataSpec, brightest: u8) -> Self {
        Self::new(Vec::new(), &spec.clone(), spec, brightest)
    }

    fn new(
        transforms: Vec<Box<dyn Transform>>,
        from: &DataSpec,
        spec: DataSpec,
        brightest: u8,
    ) -> Self {
        let frame = Frame::of(&from.input);
        let after = (0..transforms.len()).map(|number| scales(&transforms[number + 1..], frame));
        let after = after.collect();
        // Tokens have no channels.
        let scales = if from.has_tokens() { Vec::new() } else { scales(&transforms, frame) };
        let maps: Vec<_> = scales.iter().map(|scale| ChannelMap::new(*scale, brightest)).collect();
        let as_is = scales.iter().map(|_| ChannelMap::new(Scale::NONE, 1)).collect();
        Self { transforms, spec, frame, maps, as_is, after }
    }

    /// What samples look like in the end.
    pub fn spec(&self) -> &DataSpec {
        &self.spec
    }

    pub(in crate::data) fn scratch(&self) -> Scratch {
        Scratch {
            plan: Plan::new(self.frame),
            buffers: PassBuffers::default(),
            numbers: Vec::new(),
        }
    }

    /// Plans what is done to the next sample.
    pub(in crate::data) fn plan(&self, random: &mut Prng, scratch: &mut Scratch) {
        scratch.plan.clear(self.frame);
        for (number, transform) in self.transforms.iter().enumerate() {
            scratch.plan.transform = number;
            transform.plan(random, &mut scratch.plan);
        }
    }

    /// Converts a data set's values to those of the batch.
    pub(in crate::data) fn render(
        &self,
        source: &[impl Source],
        scratch: &mut Scratch,
        out: &mut [f32],
    ) {
        let Scratch { plan, buffers, .. } = scratch;
        let palette =
            ValueMaps { maps: &self.maps, paint: &|paint, channel| self.paint(paint, channel) };
        render(plan, self.frame, source, &palette, &self.as_is, buffers, out);
    }

    /// The same from numbers that come one by one.
    pub(in crate::data) fn render_numbers(
        &self,
        numbers: impl IntoIterator<Item = f32>,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) {
        if scratch.plan.passes.is_empty() && self.maps.iter().all(|map| map.is_none) {
            out.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
            return;
        }
        let mut kept = std::mem::take(&mut scratch.numbers);
        kept.clear();
        kept.extend(numbers);
        self.render(&kept, scratch, out);
        scratch.numbers = kept;
    }

    fn paint(&self, paint: FillValue, channel: usize) -> f32 {
        let scale = self.after.get(paint.transform).and_then(|scales| scales.get(channel));
        scale.copied().unwrap_or(Scale::NONE).of(paint.value)
    }

    /// Whether samples of a batch are mixed with each other.
    pub(in crate::data) fn mixes_rows(&self) -> bool {
        self.mixes(&mut Prng::new(&[0])).next().is_some()
    }

    /// The weight of each sample in the mixes of a batch, in order.
    pub(in crate::data) fn mixes<'a>(
        &'a self,
        random: &'a mut Prng,
    ) -> impl Iterator<Item = f32> + 'a {
        self.transforms.iter().filter_map(|transform| transform.mix(random))
    }
}

/// The combined mapping of the values of each channel.
fn scales(transforms: &[Box<dyn Transform>], frame: Frame) -> Vec<Scale> {
    let of = |channel| {
        let scales = transforms.iter().map(|transform| transform.scale(channel));
        scales.fold(Scale::NONE, Scale::then)
    };
    (0..frame.channels).map(of).collect()
}

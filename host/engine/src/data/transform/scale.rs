//! A factor and a shift: all that normalizing and rescaling need.

/// `factor * value + shift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// What a value is multiplied by.
    pub factor: f64,
    /// What is added to the product.
    pub shift: f64,
}

impl Scale {
    /// Leaves values as they are.
    pub const NONE: Self = Self { factor: 1.0, shift: 0.0 };

    /// This mapping, then another.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self { factor: self.factor * next.factor, shift: self.shift * next.factor + next.shift }
    }

    /// The mapped value.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "samples are f32; this is where they are rounded"
    )]
    pub fn of(self, value: f64) -> f32 {
        (self.factor * value + self.shift) as f32
    }
}

/// The mapping of a source's values in one channel: a table for bytes, a formula for numbers.
#[derive(Debug, Clone)]
pub(in crate::data) struct ChannelMap {
    pub(super) table: Box<[f32; 256]>,
    factor: f32,
    shift: f32,
    pub(super) is_none: bool,
}

impl ChannelMap {
    /// The mapping of a scale whose 1.0 is the byte `brightest`.
    #[expect(clippy::cast_possible_truncation, reason = "samples are f32")]
    pub(super) fn new(scale: Scale, brightest: u8) -> Self {
        let mut table = Box::new([0.0; 256]);
        for (byte, value) in (0_u8..=255).zip(table.iter_mut()) {
            *value = scale.of(f64::from(byte) / f64::from(brightest.max(1)));
        }
        let (factor, shift) = (scale.factor as f32, scale.shift as f32);
        Self { table, factor, shift, is_none: scale == Scale::NONE }
    }
}

/// An element of a source image.
pub(in crate::data) trait Source: Copy {
    fn value(self, map: &ChannelMap) -> f32;
}

impl Source for u8 {
    fn value(self, map: &ChannelMap) -> f32 {
        map.table[usize::from(self)]
    }
}

impl Source for f32 {
    // Not fused: the same on every processor, and no library call on those without the instruction.
    #[expect(clippy::suboptimal_flops, reason = "see above")]
    fn value(self, map: &ChannelMap) -> f32 {
        self * map.factor + map.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_numbers_take_the_same_way() {
        let scale = Scale { factor: 0.5, shift: 1.0 }.then(Scale { factor: 4.0, shift: -1.0 });
        assert_eq!(scale, Scale { factor: 2.0, shift: 3.0 });
        let map = ChannelMap::new(scale, 16);
        assert!((8_u8.value(&map) - 4.0).abs() < 1e-6 && (0.5_f32.value(&map) - 4.0).abs() < 1e-6);
        assert!(ChannelMap::new(Scale::NONE, 255).is_none && !map.is_none);
    }
}

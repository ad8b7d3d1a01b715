//! A factor and a shift: all that normalizing and rescaling need.

use hookrack_torch::bytes;

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
    // Computes the same numbers without a table; `None` if it cannot.
    product: Option<ByteProduct>,
    factor: f32,
    shift: f32,
    pub(super) is_none: bool,
}

/// `factor * byte` in vectors, a few times as fast as a look-up. The factor is the sum of two numbers;
/// with one, the last bit would be wrong for some bytes. A shift takes more arithmetic than a look-up does.
#[derive(Debug, Clone, Copy)]
struct ByteProduct {
    factor: f32,
    rest: f32,
}

impl ByteProduct {
    /// The product with the bits of a table; `None` if there is none.
    #[expect(clippy::cast_possible_truncation, reason = "the rest of the number is kept")]
    fn of_table(table: &[f32; 256], factor: f64) -> Option<Self> {
        // 16 bits, so that the product with a byte is exact.
        let front = f32::from_bits((factor as f32).to_bits() & 0xffff_ff00);
        let product = Self { factor: front, rest: (factor - f64::from(front)) as f32 };
        let is_same = |(byte, value): (u8, &f32)| product.of(byte).to_bits() == value.to_bits();
        (0..=255).zip(table).all(is_same).then_some(product)
    }

    #[inline]
    fn of(self, byte: u8) -> f32 {
        let byte = f32::from(byte);
        byte * self.factor + byte * self.rest
    }
}

impl ChannelMap {
    /// The mapping of a scale whose 1.0 is the byte `brightest`.
    #[expect(clippy::cast_possible_truncation, reason = "samples are f32")]
    pub(super) fn new(scale: Scale, brightest: u8) -> Self {
        let mut table = Box::new([0.0; 256]);
        for (byte, value) in (0_u8..=255).zip(table.iter_mut()) {
            *value = scale.of(f64::from(byte) / f64::from(brightest.max(1)));
        }
        let product = ByteProduct::of_table(&table, scale.factor / f64::from(brightest.max(1)));
        let (factor, shift) = (scale.factor as f32, scale.shift as f32);
        Self { table, product, factor, shift, is_none: scale == Scale::NONE }
    }
}

/// An element of a source image.
pub(in crate::data) trait Source: Copy {
    fn value(self, map: &ChannelMap) -> f32;

    /// Maps a line of elements.
    fn line(from: &[Self], to: &mut [f32], map: &ChannelMap) {
        to.iter_mut().zip(from).for_each(|(place, element)| *place = element.value(map));
    }
}

impl Source for u8 {
    fn value(self, map: &ChannelMap) -> f32 {
        map.table[usize::from(self)]
    }

    fn line(from: &[Self], to: &mut [f32], map: &ChannelMap) {
        match map.product {
            Some(ByteProduct { factor, rest }) => bytes::scale(from, factor, rest, to),
            None => to.iter_mut().zip(from).for_each(|(place, byte)| *place = byte.value(map)),
        }
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
    fn a_line_of_bytes_has_the_bits_of_the_table() {
        let half = Scale { factor: 0.5, shift: 0.0 };
        let shifted = Scale { factor: 2.0, shift: -1.0 };
        for (scale, brightest, is_product) in [
            (Scale::NONE, 255, true),
            (Scale::NONE, 16, true),
            (half, 255, true),
            (shifted, 255, false),
        ] {
            let map = ChannelMap::new(scale, brightest);
            assert_eq!(map.product.is_some(), is_product, "{scale:?}");
            let (bytes, mut line): (Vec<u8>, _) = ((0..=255).collect(), [0.0; 256]);
            u8::line(&bytes, &mut line, &map);
            assert_eq!(line.map(f32::to_bits), map.table.map(f32::to_bits), "{scale:?}");
        }
    }

    #[test]
    fn bytes_and_numbers_take_the_same_way() {
        let scale = Scale { factor: 0.5, shift: 1.0 }.then(Scale { factor: 4.0, shift: -1.0 });
        assert_eq!(scale, Scale { factor: 2.0, shift: 3.0 });
        let map = ChannelMap::new(scale, 16);
        assert!((8_u8.value(&map) - 4.0).abs() < 1e-6 && (0.5_f32.value(&map) - 4.0).abs() < 1e-6);
        assert!(ChannelMap::new(Scale::NONE, 255).is_none && !map.is_none);
    }
}

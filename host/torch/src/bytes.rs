//! Bytes of images become floats, in the vectors of the CPU.

use super::ffi;

/// Writes `byte * factor + byte * rest` for each byte, every operation rounded; the shorter of both slices decides how many.
pub fn scale(bytes: &[u8], factor: f32, rest: f32, out: &mut [f32]) {
    let count = bytes.len().min(out.len());
    // SAFETY: both slices have `count` elements, and the function touches no others.
    unsafe { ffi::hrt_scale_bytes(bytes.as_ptr(), count, factor, rest, out.as_mut_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_the_bits_of_scalar_arithmetic_and_nothing_else_is_written() {
        let (factor, rest) = (0.003_921_5, 1.234e-8);
        let bytes: Vec<u8> = (0..=255).chain(0..=255).collect();
        for count in [0, 1, 15, 16, 17, 300] {
            let mut out = vec![-1.0; 512];
            scale(&bytes[..count], factor, rest, &mut out);
            let expected = bytes.iter().enumerate().map(|(place, byte)| {
                let byte = f32::from(*byte);
                if place < count { byte * factor + byte * rest } else { -1.0 }
            });
            assert!(expected.map(f32::to_bits).eq(out.iter().map(|it| it.to_bits())), "{count}");
        }
    }
}

//! How far rounding alone can carry a number: what tests of arithmetic allow, so that no CPU's order of summation decides them.
//!
//! Parity with PyTorch is judged in doubles, by [`DOUBLES`]. Floats are held against doubles, and may be off by what their arithmetic
//! explains: a number of roundings, of numbers of a known size, and where a computation magnifies errors by as much as it is seen to
//! magnify them in doubles ([`nudges`]). No tolerance is taken from the results of a particular machine.

/// The unit roundoff of a 32-bit float: the relative error of one rounding.
pub const UNIT: f64 = f32::EPSILON as f64 / 2.0;

/// The tolerance in doubles, relative to the largest number that is compared. One rounding is 1.1e-16: this leaves ten million of them
/// to sums, to their conditioning and to the order they are taken in, and is still below what any other epsilon, padding or scale makes.
pub const DOUBLES: f64 = 1e-9;

/// The maximum relative change of a number by `count` successive roundings (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1).
pub fn gamma(count: u32) -> f64 {
    let sum = f64::from(count) * UNIT;
    sum / (1.0 - sum)
}

/// Asserts that a float is `wanted` up to this many roundings of numbers no larger than `wanted`, or than 1.
#[track_caller]
pub fn assert_near(found: f64, wanted: f64, roundings: u32) {
    let tolerance = gamma(roundings) * wanted.abs().max(1.0);
    let off = (found - wanted).abs();
    assert!(
        off <= tolerance,
        "{found}, not {wanted}: off by {off:e}, and {tolerance:e} is allowed"
    );
}

/// Signs that roundings may have: of number `index` in step `step`, in one of [`PATTERNS`] ways.
pub fn sign(pattern: u32, step: u32, index: u32) -> f64 {
    match pattern {
        // All the same way: errors add up at their worst where nothing else turns them.
        0 => 1.0,
        1 => -1.0,
        _ => {
            let mut x = pattern.wrapping_mul(0x9E37_79B9) ^ step.wrapping_mul(0x85EB_CA6B);
            x = (x ^ index).wrapping_mul(0xC2B2_AE35);
            x = (x ^ (x >> 15)).wrapping_mul(0x27D4_EB2F);
            if (x ^ (x >> 13)) & 1 == 0 { 1.0 } else { -1.0 }
        }
    }
}

/// The number of ways in which a computation is perturbed, to see how it magnifies a rounding.
pub const PATTERNS: u32 = 8;

/// One rounding of each of `count` numbers, as factors of the numbers: plus or minus [`UNIT`].
pub fn nudges(pattern: u32, step: u32, count: usize) -> Vec<f64> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    (0..count).map(|index| UNIT * sign(pattern, step, index)).collect()
}

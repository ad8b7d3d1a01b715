//! A small random number generator, so that the order of samples does not depend on a library's version.

/// SplitMix64: one 64-bit state, every state good, a new sequence for every seed.
#[derive(Debug, Clone)]
pub struct Prng {
    state: u64,
}

impl Prng {
    /// A generator seeded by all the given numbers, in their order.
    pub fn new(seeds: &[u64]) -> Self {
        let mut prng = Self { state: 0 };
        for seed in seeds {
            prng.state = prng.next_u64() ^ seed;
        }
        prng
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed(self.state)
    }

    /// A uniform number below `bound`; 0 for a bound of 0.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the halves of a product; the high one is below `bound`"
    )]
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let (high, low) = ((product >> 64) as u64, product as u64);
            // Lemire's method: rejects the few products that would bias the result.
            if low >= bound || low >= bound.wrapping_neg() % bound.max(1) {
                return high as usize;
            }
        }
    }

    /// A number in `0.0..1.0`.
    #[expect(clippy::cast_precision_loss, reason = "24 bits are exact in an f32")]
    pub fn unit_f32(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// A number in `0.0..1.0`, finer than an `f32`.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in an f64")]
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the Beta(`alpha`, `alpha`) distribution, for an `alpha` above 0.
    pub fn beta(&mut self, alpha: f64) -> f64 {
        let (a, b) = (self.gamma(alpha), self.gamma(alpha));
        // Both may underflow to 0; the result is then one end or the other.
        if a + b > 0.0 { a / (a + b) } else { self.unit_f64().round() }
    }

    /// Marsaglia and Tsang's method; a shape below 1 is derived from the shape plus 1.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let power = self.unit_f64().powf(1.0 / shape);
            return self.gamma(shape + 1.0) * power;
        }
        let reduced = shape - 1.0 / 3.0;
        let spread = 1.0 / (9.0 * reduced).sqrt();
        loop {
            let normal = self.normal();
            let cube = (1.0 + spread * normal).powi(3);
            let height = (1.0 - self.unit_f64()).ln();
            if cube > 0.0 && height < 0.5 * normal * normal + reduced * (1.0 - cube + cube.ln()) {
                return reduced * cube;
            }
        }
    }

    /// Box and Muller's method, one number of each pair.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit_f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit_f64()).cos()
    }
}

/// 64 bits that depend on all 64 given; the last step of the generator above.
pub(super) fn mixed(bits: u64) -> u64 {
    let mut z = bits;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut prng = Prng { state: 1_234_567 };
        let found = [prng.next_u64(), prng.next_u64(), prng.next_u64()];
        assert_eq!(
            found,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_below_a_bound_are_about_equally_frequent() {
        let mut counts = [0_u32; 6];
        let mut prng = Prng::new(&[1]);
        for _ in 0..60_000 {
            counts[prng.below(6)] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert_eq!((prng.below(0), prng.below(1)), (0, 0));
    }

    #[test]
    fn beta_has_its_mean_and_its_spread() {
        for alpha in [0.2, 1.0, 4.0] {
            let mut prng = Prng::new(&[7]);
            let drawn: Vec<f64> = (0..20_000).map(|_| prng.beta(alpha)).collect();
            let mean = drawn.iter().sum::<f64>() / 20_000.0;
            let spread = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
            // The variance of Beta(a, a) is 1 / (8 a + 4).
            let wanted = 1.0 / (8.0 * alpha + 4.0);
            assert!((mean - 0.5).abs() < 0.01, "{alpha}: mean {mean}");
            assert!((spread - wanted).abs() < 0.04 * wanted, "{alpha}: {spread}, not {wanted}");
        }
    }

    #[test]
    fn each_seed_and_its_place_matter() {
        let first = |seeds: &[u64]| Prng::new(seeds).next_u64();
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
    }
}

//! A small random number generator of our own, so that the order of samples depends on no library.

/// SplitMix64: one 64-bit state, every state good, a new sequence for every seed.
#[derive(Debug, Clone)]
pub struct Prng {
    state: u64,
}

impl Prng {
    /// A sequence that is fixed by all the numbers given, in their order.
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
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, each as likely as the others; 0 for a bound of 0.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the halves of a product; the high one is below `bound`"
    )]
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let (high, low) = ((product >> 64) as u64, product as u64);
            // Lemire: only the first few products of each run would be too frequent.
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

    /// Puts the items in a random order, each order as likely as the others.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
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
    fn each_seed_and_its_place_matter() {
        let first = |seeds: &[u64]| Prng::new(seeds).next_u64();
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
    }
}

//! The momentum of an average.

/// The momentum for the next update. With `warmup` it starts low and grows to the one that is set, so that the
/// average does not lag behind while the model still learns fast.
pub fn momentum(updates: u64, set: f64, warmup: bool) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "updates stay far below 2^53")]
    let updates = updates as f64;
    if warmup { set.min((1.0 + updates) / (10.0 + updates)) } else { set }
}

#[cfg(test)]
mod tests {
    use super::momentum;

    #[test]
    fn warm_up_lets_the_average_follow_at_first() {
        let close = |found: f64, wanted: f64| (found - wanted).abs() < 1e-12;
        assert!(close(momentum(1, 0.999, true), 2.0 / 11.0));
        assert!(close(momentum(90, 0.999, true), 0.91));
    }

    #[test]
    fn warm_up_never_passes_the_momentum_that_is_set() {
        assert!(momentum(1_000_000, 0.999, true) <= 0.999);
        assert!(momentum(1_000_000, 0.5, true) <= 0.5);
    }

    #[test]
    fn without_warm_up_the_momentum_is_the_one_that_is_set() {
        assert!((momentum(0, 0.999, false) - 0.999).abs() < 1e-12);
    }
}

//! When averaging begins, and the learning rate from then on.

/// The epoch in which averaging begins: a fraction of all epochs, or an epoch if `start` is 1 or more.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a run has far fewer epochs than 2^53, and `start` is not negative"
)]
pub fn first_epoch(start: f64, epochs: u64) -> u64 {
    if start >= 1.0 { start as u64 } else { (epochs as f64 * start) as u64 + 1 }
}

/// The learning rate in an epoch of averaging: from `from` to `to` in `anneal` epochs, along half a cosine, then held.
#[expect(clippy::cast_precision_loss, reason = "a run has far fewer epochs than 2^53")]
pub fn rate(from: f64, to: f64, epoch: u64, first: u64, anneal: u64) -> f64 {
    let done = (epoch.saturating_sub(first) + 1) as f64;
    if anneal == 0 || done >= anneal as f64 {
        return to;
    }
    let part = (1.0 - (std::f64::consts::PI * done / anneal as f64).cos()) / 2.0;
    from + (to - from) * part
}

/// The weight of the next model in an average with equal weights, after this many models.
#[expect(clippy::cast_precision_loss, reason = "a run has far fewer epochs than 2^53")]
pub fn weight(updates: u64) -> f64 {
    1.0 / (updates as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_epochs_or_an_epoch() {
        assert_eq!(first_epoch(0.75, 8), 7);
        assert_eq!(first_epoch(0.0, 8), 1);
        assert_eq!(first_epoch(5.0, 8), 5);
    }

    #[test]
    fn the_rate_goes_to_its_value_and_stays_there() {
        let rates: Vec<_> = (7..=12).map(|epoch| rate(1.0, 0.1, epoch, 7, 4)).collect();
        assert!(rates.windows(2).all(|pair| pair[1] <= pair[0]), "{rates:?}");
        assert!((rates[1] - 0.55).abs() < 1e-12, "{rates:?}");
        assert!((rates[3] - 0.1).abs() < 1e-12 && (rates[5] - 0.1).abs() < 1e-12, "{rates:?}");
        assert!((rate(1.0, 0.1, 7, 7, 0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn every_model_has_the_same_weight_in_the_end() {
        let mut average = 0.0;
        for (updates, value) in [3.0, 5.0, 10.0].into_iter().enumerate() {
            average += (value - average) * weight(updates as u64);
        }
        assert!((average - 6.0).abs() < 1e-12);
    }
}

//! Log-probabilities of a row of logits.

/// The logarithm of the sum of exponentials, without overflow. NaN if any logit is NaN.
fn log_sum_exp(row: &[f32]) -> f64 {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shift = if largest.is_finite() { f64::from(largest) } else { 0.0 };
    shift + row.iter().map(|x| (f64::from(*x) - shift).exp()).sum::<f64>().ln()
}

/// The log-probability of one class.
pub(super) fn log_probability(row: &[f32], class: usize) -> f64 {
    f64::from(row[class]) - log_sum_exp(row)
}

/// The log-probabilities of all classes.
pub(super) fn log_probabilities(row: &[f32]) -> impl Iterator<Item = f64> {
    let total = log_sum_exp(row);
    row.iter().map(move |x| f64::from(*x) - total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_probabilities_are_those_of_any_shift_and_nan_of_a_nan() {
        for row in [[0.0, 0.0], [1000.0, 1000.0], [-1000.0, -1000.0]] {
            assert!((log_probability(&row, 1) + 2f64.ln()).abs() < 1e-12, "{row:?}");
        }
        assert!(log_probability(&[0.0, f32::NAN], 0).is_nan());
        assert_eq!(log_probabilities(&[0.0, 1.0]).count(), 2);
    }
}

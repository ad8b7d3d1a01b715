//! The shapes that schedules are made of: slopes, half cosines, powers, stairs.

use std::f64::consts::PI;

use super::span;

/// Steps as a number with a fraction.
#[expect(clippy::cast_precision_loss, reason = "steps are far below 2^53")]
pub(super) fn real(steps: u64) -> f64 {
    steps as f64
}

/// The completed fraction of `total` at `step`: 0 at the first step, 1 from `total` on.
pub(super) fn share(step: u64, total: u64) -> f64 {
    let total = total.max(1);
    real(step.min(total)) / real(total)
}

/// A straight line.
pub(super) fn line(from: f64, to: f64, share: f64) -> f64 {
    from + (to - from) * share
}

/// Half a cosine.
pub(super) fn cosine(from: f64, to: f64, share: f64) -> f64 {
    to + (from - to) * (1.0 + (PI * share).cos()) / 2.0
}

/// A power of the remaining fraction.
pub(super) fn polynomial(from: f64, to: f64, power: f64, share: f64) -> f64 {
    (from - to) * (1.0 - share).powf(power) + to
}

/// `base` times `gamma` to a power.
pub(super) fn decayed(base: f64, gamma: f64, times: u64) -> f64 {
    base * gamma.powf(real(times))
}

/// The number of milestones reached at `step`. They must be sorted.
pub(super) fn reached(milestones: &[u64], step: u64) -> usize {
    milestones.partition_point(|&milestone| milestone <= step)
}

/// The rate times `gamma` for each milestone reached.
pub(super) fn stairs(base: f64, gamma: f64, milestones: &[u64], step: u64) -> f64 {
    decayed(base, gamma, reached(milestones, step) as u64)
}

/// The steps given by `key`, as numbers or fractions of the run, or which of them is out of order.
pub(super) fn in_order(key: &str, written: &[f64], total: u64) -> Result<Vec<u64>, String> {
    let milestones = span::milestones(key, written, total)?;
    match milestones.windows(2).find(|pair| pair[0] > pair[1]) {
        None => Ok(milestones),
        Some(pair) => Err(format!(
            "{key} = {milestones:?} is out of order: {} comes after {}; must be in increasing order",
            pair[1], pair[0]
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_between_0_and_1_whatever_the_total() {
        for (total, wanted) in
            [(0, [0.0, 1.0, 1.0, 1.0]), (1, [0.0, 1.0, 1.0, 1.0]), (2, [0.0, 0.5, 1.0, 1.0])]
        {
            for (step, wanted) in [0, 1, 2, 9].into_iter().zip(wanted) {
                assert!((share(step, total) - wanted).abs() < 1e-12, "{step} of {total}");
            }
        }
    }

    #[test]
    fn a_milestone_counts_from_its_own_step_on() {
        assert_eq!([0, 2, 3, 5, 6].map(|step| reached(&[3, 5, 5], step)), [0, 0, 1, 3, 3]);
        assert_eq!(in_order("milestones", &[1.0, 1.0, 4.0], 8), Ok(vec![1, 1, 4]));
        assert!(in_order("milestones", &[4.0, 1.0], 9).unwrap_err().contains("1 comes after 4"));
        assert!(in_order("milestones", &[0.5, 0.2], 9).unwrap_err().contains("1 comes after 4"));
    }
}

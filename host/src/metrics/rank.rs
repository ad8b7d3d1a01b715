//! The rank of the true class among a sample's outputs.

use super::numbers::Classified;
use hookrack_plugin_api::prelude::*;

/// The rank of a class in a row, from 1. Among equal scores the first class ranks first; NaN ranks before
/// every number, and a class whose own score is NaN ranks last.
///
/// Counting takes one pass without memory; sorting would need more of both.
#[expect(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "`not less` is true of NaN, and that is meant"
)]
fn place(row: &[f32], class: usize) -> usize {
    let score = row[class];
    if score.is_nan() {
        return row.len();
    }
    let before = row[..class].iter().filter(|other| !(**other < score)).count();
    let after = row[class + 1..].iter().filter(|other| !(**other <= score)).count();
    1 + before + after
}

/// The sum of a function of each sample's rank, and the number of samples.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer classes than 2^53")]
pub(super) fn over_ranks(batch: Classified<'_>, value: impl Fn(f64) -> f64) -> Result<(f64, f64)> {
    ensure!(batch.width > 1, "expected scores of at least 2 classes, found one output per sample");
    batch.sum(|row, class| value(place(row, class) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_rank_in_class_order_and_nan_ranks_first_but_is_never_right() {
        assert_eq!([0, 1, 2].map(|class| place(&[0.5, 0.5, 0.9], class)), [2, 3, 1]);
        assert_eq!(place(&[f32::NAN, 1.0, 0.0], 1), 2);
        assert_eq!(place(&[f32::NAN, 1.0, 0.0], 0), 3);
    }
}

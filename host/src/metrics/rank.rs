//! The place of the right class among a sample's outputs.

use super::numbers::Classified;
use hookrack_plugin_api::prelude::*;

/// The place of a class in a row, the first is 1. Among equal scores the first class stands first; NaN stands before
/// every number, and a class whose own score is NaN stands last.
///
/// Counting is one pass without memory of its own, where sorting the row would need both.
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

/// The sum of a function of each sample's place, and how many samples there were.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer classes than 2^53")]
pub(super) fn over_ranks(batch: Classified<'_>, value: impl Fn(f64) -> f64) -> Result<(f64, f64)> {
    ensure!(batch.width > 1, "expected scores of at least 2 classes, found one output per sample");
    let (mut sum, mut count) = (0.0, 0.0);
    for row in batch.rows() {
        let (row, class) = row?;
        sum += value(place(row, class) as f64);
        count += 1.0;
    }
    Ok((sum, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_stand_in_the_order_of_classes_and_nan_stands_first_but_is_never_right() {
        assert_eq!([0, 1, 2].map(|class| place(&[0.5, 0.5, 0.9], class)), [2, 3, 1]);
        assert_eq!(place(&[f32::NAN, 1.0, 0.0], 1), 2);
        assert_eq!(place(&[f32::NAN, 1.0, 0.0], 0), 3);
    }
}

//! Counts the samples whose label is among the k largest scores.

use hookrack_plugin_api::{Result, ensure};
use std::ops::AddAssign;

/// The default label to ignore, as in libtorch's losses.
pub const IGNORED: i64 = -100;

/// Rows of scores, one for each label.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// All scores, row by row.
    pub scores: &'a [f32],
    /// Scores per row.
    pub classes: usize,
    /// The class of each row.
    pub labels: &'a [i64],
    /// Rows with this label do not count.
    pub ignored: i64,
}

/// Hits among samples. Two counts add up, which is all that merging across processes needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Samples whose label was among the k largest scores.
    pub hits: u64,
    /// All samples that count.
    pub samples: u64,
}

impl Count {
    /// Hits per sample; NaN without samples.
    #[expect(clippy::cast_precision_loss, reason = "samples stay far below 2^53")]
    pub fn share(self) -> f64 {
        if self.samples == 0 { f64::NAN } else { self.hits as f64 / self.samples as f64 }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.samples += other.samples;
    }
}

/// The number of scores that rank before the label's. Among equal ones the first class ranks first, as in `argmax`; NaN
/// ranks before every number, as in `topk`.
///
/// Counting takes one pass without memory; sorting would need more of both. It never stops early: a
/// loop without an exit is what the compiler turns into vector instructions.
#[expect(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "`not less` is true of NaN, and that is meant"
)]
fn rank(row: &[f32], label: usize) -> usize {
    let score = row[label];
    let before = row[..label].iter().filter(|other| !(**other < score)).count();
    let after = row[label + 1..].iter().filter(|other| !(**other <= score)).count();
    before + after
}

/// Counts over rows. A label whose score is NaN is never a hit.
///
/// # Errors
/// A label is not a class.
pub fn count_hits(rows: Rows<'_>, k: usize) -> Result<Count> {
    let Rows { scores, classes, labels, ignored } = rows;
    let mut count = Count::default();
    // `chunks_exact` takes no chunks of 0; without classes any label is out of range below.
    for (row, &label) in scores.chunks_exact(classes.max(1)).zip(labels) {
        if label == ignored {
            continue;
        }
        let index = usize::try_from(label).unwrap_or(usize::MAX);
        ensure!(index < classes, "label {label} is not one of {classes} classes");
        count.samples += 1;
        count.hits += u64::from(!row[index].is_nan() && rank(row, index) < k);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::{Count, IGNORED, Rows, count_hits};
    use hookrack_plugin_api::Result;

    const NAN: f32 = f32::NAN;

    fn count(scores: &[f32], classes: usize, labels: &[i64], k: usize) -> Result<Count> {
        count_hits(Rows { scores, classes, labels, ignored: IGNORED }, k)
    }

    fn hits(row: &[f32], label: i64, k: usize) -> u64 {
        count(row, row.len(), &[label], k).unwrap().hits
    }

    #[test]
    fn the_label_must_be_among_the_k_largest() {
        let row = [0.1, 0.4, 0.2, 0.3];
        assert_eq!([1, 2, 3, 4].map(|k| hits(&row, 1, k)), [1, 1, 1, 1]);
        assert_eq!([1, 2, 3, 4].map(|k| hits(&row, 3, k)), [0, 1, 1, 1]);
        assert_eq!([1, 2, 3, 4].map(|k| hits(&row, 0, k)), [0, 0, 0, 1]);
    }

    #[test]
    fn rows_belong_to_labels_in_order() {
        let scores = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
        assert_eq!(count(&scores, 2, &[0, 1, 0], 1).unwrap(), Count { hits: 2, samples: 3 });
    }

    #[test]
    fn among_equal_scores_the_first_class_ranks_first() {
        assert_eq!([0, 1, 2].map(|label| hits(&[0.5; 3], label, 2)), [1, 1, 0]);
    }

    #[test]
    fn a_k_beyond_the_classes_always_hits() {
        assert_eq!([0, 1].map(|label| hits(&[-1.0, f32::INFINITY], label, 7)), [1, 1]);
    }

    #[test]
    fn a_nan_score_is_never_a_hit_and_ranks_before_numbers() {
        assert_eq!(hits(&[NAN, 1.0], 0, 2), 0);
        assert_eq!(hits(&[NAN, 1.0], 1, 1), 0);
        assert_eq!(hits(&[1.0, NAN], 0, 1), 0);
        assert_eq!(hits(&[NAN, 1.0], 1, 2), 1);
        assert_eq!(hits(&[NAN, NAN], 1, 2), 0);
    }

    #[test]
    fn an_empty_batch_counts_nothing() {
        let empty = count(&[], 10, &[], 5).unwrap();
        assert_eq!(empty, Count::default());
        assert!(empty.share().is_nan());
    }

    #[test]
    fn an_ignored_label_does_not_count() {
        let one = Count { hits: 1, samples: 1 };
        let scores = &[1.0, 0.0, 1.0, 0.0];
        assert_eq!(count(scores, 2, &[-100, 0], 1).unwrap(), one);
        let rows = Rows { scores, classes: 2, labels: &[1, 0], ignored: 1 };
        assert_eq!(count_hits(rows, 1).unwrap(), one);
    }

    #[test]
    fn a_label_that_is_not_a_class_is_refused() {
        for label in [2, -1] {
            let error = count(&[1.0, 0.0], 2, &[label], 1).unwrap_err().to_string();
            assert_eq!(error, format!("label {label} is not one of 2 classes"));
        }
    }

    #[test]
    fn counts_of_two_processes_add_up() {
        let mut count = Count { hits: 1, samples: 4 };
        count += Count { hits: 2, samples: 2 };
        assert!((count.share() - 0.5).abs() < 1e-12);
    }
}

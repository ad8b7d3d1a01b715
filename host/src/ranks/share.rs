//! The share of a rank in a batch: `train.batch_size` is the batch size over all ranks.

/// A batch that cannot be divided among the ranks.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", self.why(), self.help())]
pub struct ShareError {
    /// The size of the batch.
    pub batch: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// The nearest batch sizes that these ranks can divide.
    pub batch_sizes: Vec<usize>,
    /// The nearest numbers of ranks that can divide the batch.
    pub world_sizes: Vec<usize>,
}

impl ShareError {
    /// Both numbers.
    pub fn why(&self) -> String {
        format!("a batch of {} cannot be divided among {} ranks", self.batch, self.ranks)
    }

    /// The nearest valid ones.
    pub fn help(&self) -> String {
        let either = |numbers: &[usize]| {
            numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
        };
        let (sizes, worlds) = (either(&self.batch_sizes), either(&self.world_sizes));
        format!("use a batch size of {sizes}, or {worlds} ranks")
    }
}

/// Checks that the ranks can divide batches of `batch` rows into equal shares.
///
/// # Errors
/// The number of ranks does not divide the batch size.
pub fn check_share(batch: usize, ranks: usize) -> Result<(), ShareError> {
    if batch > 0 && ranks > 0 && batch.is_multiple_of(ranks) {
        return Ok(());
    }
    let below = batch.checked_div(ranks).unwrap_or(0) * ranks;
    let batch_sizes = [below, below + ranks].into_iter().filter(|&size| size > 0).collect();
    let divides = |n: &usize| *n > 0 && batch.is_multiple_of(*n);
    let fewer = (1..ranks.min(batch + 1)).rev().find(divides);
    let more = (ranks + 1..=batch).find(divides);
    let world_sizes = fewer.into_iter().chain(more).collect();
    Err(ShareError { batch, ranks, batch_sizes, world_sizes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_cannot_be_divided_names_what_can() {
        let error = |batch, ranks| check_share(batch, ranks).unwrap_err().to_string();
        assert_eq!(
            error(100, 8),
            "a batch of 100 cannot be divided among 8 ranks: use a batch size of 96 or 104, or 5 or 10 ranks"
        );
        assert_eq!(
            error(4, 8),
            "a batch of 4 cannot be divided among 8 ranks: use a batch size of 8, or 4 ranks"
        );
        assert_eq!(
            error(7, 2),
            "a batch of 7 cannot be divided among 2 ranks: use a batch size of 6 or 8, or 1 or 7 ranks"
        );
    }
}

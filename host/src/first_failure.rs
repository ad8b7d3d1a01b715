//! The first of several errors is returned; later ones are logged.

use std::fmt::Display;

/// The first of two failures; the later one goes to the log.
pub(crate) fn first_failure<T, E: From<L>, L: Display>(
    outcome: Result<T, E>,
    later: Result<(), L>,
) -> Result<T, E> {
    match (outcome, later) {
        (outcome, Ok(())) => outcome,
        (Ok(_), Err(later)) => Err(later.into()),
        (Err(first), Err(later)) => {
            tracing::error!("after the failure: {later}");
            Err(first)
        }
    }
}

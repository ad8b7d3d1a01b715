//! The direction in which a value improves.

use std::cmp::Ordering;

/// The direction in which a value improves. NaN is never better than anything, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A larger value is better.
    Higher,
    /// A smaller value is better.
    Lower,
}

impl Better {
    /// Higher where `higher_is_better`, else lower.
    pub fn of(higher_is_better: bool) -> Self {
        if higher_is_better { Self::Higher } else { Self::Lower }
    }

    /// Returns whether `new` is better than `old`. NaN is never better; any number is better than NaN. Equal
    /// values are not better: the first one stays.
    pub fn is_better(self, new: f64, old: f64) -> bool {
        self.compare(new, old).is_lt()
    }

    /// Returns the order of two values, best first: `Less` if `a` is better than `b`. NaN comes last. It is a
    /// total order, for `sort_by`.
    pub fn compare(self, a: f64, b: f64) -> Ordering {
        match self {
            _ if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
            Self::Higher => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
            Self::Lower => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        }
    }

    /// Returns the direction with the name `higher` or `lower`; `None` for any other text, also an empty one.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "higher" => Some(Self::Higher),
            "lower" => Some(Self::Lower),
            _ => None,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }

    /// The direction of the ABI's number: positive for higher, negative for lower, 0 for neither.
    pub fn from_sign(sign: i32) -> Option<Self> {
        match sign {
            0 => None,
            1.. => Some(Self::Higher),
            _ => Some(Self::Lower),
        }
    }

    /// Whether higher is better, by the ABI's number; `None` for neither.
    pub(crate) fn higher(sign: i32) -> Option<bool> {
        Self::from_sign(sign).map(|better| better == Self::Higher)
    }

    /// The ABI's number of a direction: 1 for higher, -1 for lower, 0 for neither.
    pub fn sign(better: Option<Self>) -> i32 {
        match better {
            Some(Self::Higher) => 1,
            Some(Self::Lower) => -1,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Better::{Higher, Lower};

    #[test]
    fn nan_is_never_better_and_anything_is_better_than_nan() {
        for better in [Higher, Lower] {
            assert!(better.is_better(1.0, f64::NAN));
            assert!(!better.is_better(f64::NAN, 1.0));
            assert!(!better.is_better(f64::NAN, f64::NAN));
            assert!(!better.is_better(1.0, 1.0));
        }
        assert!(Higher.is_better(2.0, 1.0) && Lower.is_better(1.0, 2.0));
    }

    #[test]
    fn the_best_is_sorted_first_and_nan_last() {
        for (better, sorted) in [(Higher, [2.0, 1.0, 0.0]), (Lower, [0.0, 1.0, 2.0])] {
            let mut values = [1.0, f64::NAN, 2.0, 0.0];
            values.sort_by(|a, b| better.compare(*a, *b));
            assert_eq!(values[..3], sorted);
            assert!(values[3].is_nan());
        }
    }
}

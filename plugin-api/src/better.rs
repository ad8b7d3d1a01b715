//! Which of two values is better.

/// The direction in which a value improves.
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

    /// Whether `new` is better than `old`. NaN is never better; any number is better than NaN.
    pub fn is_better(self, new: f64, old: f64) -> bool {
        match self {
            _ if new.is_nan() || old.is_nan() => !new.is_nan() && old.is_nan(),
            Self::Higher => new > old,
            Self::Lower => new < old,
        }
    }

    /// The direction with the name `higher` or `lower`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "higher" => Some(Self::Higher),
            "lower" => Some(Self::Lower),
            _ => None,
        }
    }

    /// Its name.
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
}
